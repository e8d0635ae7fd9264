"""The options of measures, their registry, and how a system's value is estimated."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as settings_of_hypothesis
from hypothesis import strategies as st
from scipy.stats import kendalltau

from tandem.scores import MEASURES, of_family
from tandem.scores.agreement import orderings, settings, settings_by_mean
from tandem.scores.base import estimate
from tandem.scores.options import PRESETS, Options, tokenizer
from tandem.statistics import system_rank_correlation
from tandem.statistics.cluster_means import mean_by_cluster

pytestmark = pytest.mark.every_case


class TestOptions:
    def test_every_option_states_its_reason(self) -> None:
        assert all(each.metadata["help"].endswith(".") for each in fields(Options))

    def test_every_option_that_a_measure_names_exists(self) -> None:
        known = {each.name for each in fields(Options)}
        assert {name for m in MEASURES.values() for name in m.options} <= known

    def test_every_paper_has_a_preset(self) -> None:
        assert set(PRESETS) == {"tandem", "crux", "long2rag", "garage", "clapnq"}

    def test_the_clapnq_preset_cuts_rankings_at_the_papers_ranks(self) -> None:
        assert PRESETS["clapnq"].cuts == (1, 3, 5, 10)
        assert PRESETS["clapnq"].oracle == "relevant"

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ({"etta": "3"}, "no option is called 'etta'"),
            ({"missing": "maybe"}, "it is one of leave-out, zero"),
            ({"filtered": "perhaps"}, "filtered cannot be 'perhaps'; write it as yes or no"),
            ({"eta": "high"}, "eta cannot be 'high'; write it as 3.0"),
            ({"cuts": "ten"}, "cuts cannot be 'ten'; write it as 10,20"),
            ({"alpha": "2"}, "from 0 to 1"),
            ({"cuts": "0"}, "at least 1"),
        ],
    )
    def test_an_invalid_option_is_refused_with_a_message(
        self, given: dict[str, str], words: str
    ) -> None:
        with pytest.raises(ValueError, match=words):
            Options().changed(given)


class TestRegistry:
    def test_each_measure_is_registered_under_its_name(self) -> None:
        assert all(name == measure.name for name, measure in MEASURES.items())

    def test_every_measure_has_a_summary_a_citation_and_a_formula(self) -> None:
        for measure in MEASURES.values():
            function = getattr(measure.of, "func", measure.of)
            assert measure.summary.endswith("."), measure.name
            assert measure.citation, measure.name
            assert function.__doc__, measure.name

    def test_a_family_lists_its_measures_in_order(self) -> None:
        names = [measure.name for measure in of_family("contexts")]
        assert names == ["Cov", "alpha_nDCG", "Den", "Tokens"]


class TestEstimate:
    def test_a_mean_of_ten_queries_has_an_interval(self) -> None:
        values = np.array([0.0, 1.0] * 5)
        found = estimate(MEASURES["KPR"], values, np.arange(10))
        assert found.value == pytest.approx(0.5)
        assert found.low is not None

    def test_the_interval_of_a_share_lies_between_0_and_1(self) -> None:
        """All of ten queries 1: with t(9) = 2.2622, from 10 / (10 + 2.2622^2) to 1."""
        found = estimate(MEASURES["KPR"], np.ones(10), np.arange(10))
        assert (found.value, found.high) == (1.0, 1.0)
        assert found.low == pytest.approx(10 / (10 + 2.26216**2), abs=1e-5)
        found = estimate(MEASURES["KPR"], np.zeros(10), np.arange(10))
        assert (found.low, found.high) == (0.0, pytest.approx(1 - 10 / (10 + 2.26216**2), abs=1e-5))

    def test_the_interval_of_a_mean_is_that_of_its_measures_bounds(self) -> None:
        values = np.array([0.4, 0.6] * 5)
        found = estimate(MEASURES["KPR"], values, np.arange(10))
        assert found == mean_by_cluster(values, np.arange(10), "mean of KPR", (0.0, 1.0))

    def test_lengths_and_grades_have_bounds_of_their_own(self) -> None:
        long = estimate(MEASURES["Length"], np.array([900.0] + [0.0] * 9), np.arange(10))
        # The mean is 90, and so is its standard error.
        assert (long.low, long.high) == (0.0, pytest.approx(90 * (1 + 2.26216), abs=1e-2))
        assert long.method.endswith("; cut at 0")
        good = estimate(MEASURES["Faithful"], np.full(10, 4.0), np.arange(10))
        # Grades are from 1 to 4.
        assert (good.value, good.high) == (4.0, 4.0)
        assert good.low == pytest.approx(1 + 3 * 10 / (10 + 2.26216**2), abs=1e-5)
        assert {m.name for m in MEASURES.values() if m.bounds != (0, 1)} == {
            "Den",
            "Den(y)",
            "Tokens",
            "Length",
            "Faithful",
            "Appropriate",
            "Natural",
            "F+A",
        }

    def test_an_observed_value_beyond_the_bounds_is_not_cut(self) -> None:
        """Greedy normalisation can lift alpha-nDCG slightly above 1."""
        found = estimate(MEASURES["alpha_nDCG"], np.array([1.0, 1.02] * 5), np.arange(10))
        assert found.value == pytest.approx(1.01)
        assert found.high is not None
        assert 1.01 < found.high <= 1.02

    def test_fewer_than_ten_queries_have_no_interval(self) -> None:
        found = estimate(MEASURES["KPR"], np.array([0.0, 1.0]), np.arange(2))
        assert (found.value, found.low) == (0.5, None)


class TestAgreeing:
    def test_tau_compares_how_two_measures_order_the_systems(self) -> None:
        cov = np.array([[0.1, 0.5, 0.9], [0.3, 0.5, 0.7]])
        recall = np.array([[0.2, 0.3, 0.4], [0.2, 0.4, 0.3]])
        (found,) = orderings({"Cov": cov, "Recall": recall})
        # Means 0.2 0.5 0.8 against 0.2 0.35 0.35: two pairs are ordered alike, one is tied in the
        # second measure.
        assert (found.a, found.b) == ("Cov", "Recall")
        assert found.kendall.value == pytest.approx(2 / np.sqrt(3 * 2))

    def test_taus_computed_together_equal_those_computed_pair_by_pair(self) -> None:
        generator = np.random.default_rng(5)
        tables = {name: np.round(generator.random((12, 5)), 1) for name in "abc"}
        tables["b"][3, 1] = np.nan
        found = orderings(tables, draws=300, seed=4)
        assert [(each.a, each.b) for each in found] == [("a", "b"), ("a", "c"), ("b", "c")]
        for each in found:
            alone = system_rank_correlation(tables[each.a], tables[each.b], draws=300, seed=4)
            assert each.kendall.value == pytest.approx(alone.value)
            assert each.kendall.low == pytest.approx(alone.low)

    @pytest.mark.parametrize("systems", [128, 129, 300])
    def test_tau_over_many_systems_is_that_of_scipy(self, systems: int) -> None:
        generator = np.random.default_rng(systems)
        tables = {name: generator.random((12, systems)) for name in "ab"}
        tables["b"][:, 5] = tables["b"][:, 4]
        (found,) = orderings(tables, draws=0)
        theirs = kendalltau(*(table.mean(axis=0) for table in tables.values()))
        assert found.kendall.value == pytest.approx(theirs.statistic)

    def test_a_measure_without_a_value_for_a_system_has_no_tau(self) -> None:
        tables = {name: np.arange(12.0).reshape(3, 4) for name in "abc"}
        tables["b"][:, 2] = np.nan
        found = {each.a + each.b: each.kendall for each in orderings(tables, draws=0)}
        assert found["ac"].value == 1
        assert found["ab"].value is found["bc"].value is None
        assert found["ab"].reason

    def test_settings_are_compared_on_the_same_queries(self) -> None:
        better = np.linspace(0.5, 0.9, 8)
        found = settings({"oracle": better, "bm25": better - 0.1, "dense": better - 0.3})
        # All eight differences have one sign: p = 2 / 2^8, and Holm's adjustment triples it.
        assert [(each.a, each.b) for each in found] == [
            ("oracle", "bm25"),
            ("oracle", "dense"),
            ("bm25", "dense"),
        ]
        assert [each.test.p_value for each in found] == pytest.approx([1 / 128] * 3)
        assert [each.adjusted_p_value for each in found] == pytest.approx([3 / 128] * 3)

    @settings_of_hypothesis(max_examples=60)
    @given(seed=st.integers(0, 10_000), queries=st.integers(10, 30), shift=st.floats(0, 0.3))
    def test_means_differ_significantly_exactly_if_the_interval_excludes_0(
        self, seed: int, queries: int, shift: float
    ) -> None:
        generator = np.random.default_rng(seed)
        one, other = generator.random((2, queries))
        (found,) = settings_by_mean({"a": one + shift, "b": other})
        difference, p = found.test.difference, found.test.p_value
        assert difference.low is not None
        assert difference.high is not None
        assert p is not None
        assert (p < 0.05) == (not difference.low <= 0 <= difference.high)

    def test_without_an_interval_there_is_no_test_of_means(self) -> None:
        better = np.linspace(0.5, 0.9, 9) ** 2
        (found,) = settings_by_mean({"a": better, "b": better**2 - 0.1})
        assert found.test.difference.low is None
        assert found.test.p_value is None
        assert found.test.reason == "fewer than ten queries have both scores"

    def test_the_rank_test_can_be_significant_where_the_test_of_means_is_not(self) -> None:
        """Fourteen queries are a little better, and one is far worse."""
        difference = np.append(np.linspace(0.01, 0.02, 14), -0.9)
        level = np.full(15, 0.95)
        ranks, means = (
            compare({"a": level + difference, "b": level})[0]
            for compare in (settings, settings_by_mean)
        )
        assert ranks.test.p_value is not None
        assert ranks.test.p_value < 0.05
        assert means.test.p_value is not None
        assert means.test.p_value > 0.05


class TestTokenizer:
    def test_whitespace_separates_tokens(self) -> None:
        assert tokenizer("whitespace").count("one  two\nthree") == 3

    def test_an_unknown_tokenizer_is_refused(self) -> None:
        with pytest.raises(ValueError, match="whitespace or file:PATH"):
            tokenizer("bert")

    def test_a_tokenizer_file_is_used_and_named_by_its_content(self, tmp_path: object) -> None:
        library = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
        made = library.Tokenizer(library.models.WordLevel({"one": 0, "?": 1}, unk_token="?"))
        made.pre_tokenizer = library.pre_tokenizers.Punctuation()
        path = f"{tmp_path}/tokenizer.json"
        made.save(path)
        found = tokenizer(f"file:{path}")
        assert found.count("one,two,one") == 5
        assert found.name.startswith("tokenizer.json (sha256 ")
        assert str(tmp_path) not in found.name

    def test_a_file_that_is_not_a_tokenizer_is_refused(self, tmp_path: object) -> None:
        pytest.importorskip("tokenizers", reason="tokenizers is not installed")
        with pytest.raises(ValueError, match=r"cannot be read as a tokenizer\.json"):
            tokenizer(f"file:{tmp_path}/absent.json")
