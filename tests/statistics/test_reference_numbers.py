"""The statistics match the data kit's numbers, which other libraries computed."""

import json
from functools import cache
from itertools import combinations

import numpy as np
import pytest

from tandem.statistics import (
    accuracy,
    alt_test,
    cohen_kappa,
    confusion,
    counts_of,
    f1,
    fleiss_kappa,
    fleiss_kappa_pooled,
    gwet_ac,
    kendall,
    krippendorff_alpha,
    majority,
    pearson,
    percent_agreement,
    precision,
    randolph_kappa,
    recall,
    spearman,
    unit_agreement,
    wilcoxon_signed_rank,
)
from tandem.statistics.agreement import percent_agreement_pooled
from tests.statistics.cast import (
    DATA,
    SETTINGS,
    lines,
    needs_data,
    number,
    reference_numbers,
    reference_tables,
    setting_of,
)

pytestmark = [pytest.mark.every_case, needs_data]

NUMBERS = reference_numbers() if DATA.exists() else {}
NOT_ASKED = -2
NOT_RATED = -1
PEOPLE = ("annotator1", "annotator2", "annotator3")
PAIRS = list(combinations(range(3), 2))
LLMS = ("gemini_flash", "gemini_pro", "gpt-4o", "llama-31", "gpt-4o-mini", "mistral-v03")


def expect(entry, value):
    """The value of the entry, or each of its numbers, within the tolerance that it states."""
    stated = NUMBERS[entry]
    assert value == pytest.approx(stated["value"], rel=0, abs=stated["tolerance"])


def pair_name(a, b):
    return f"{PEOPLE[a]}-{PEOPLE[b]}"


@cache
def task_one():
    """The labels of the 450 cells (30 reports, 15 questions, 3 raters) and the report ids."""
    files = [lines(DATA / f"crux/annotations/{person}/qlabels.jsonl") for person in PEOPLE]
    rows = [{r["id"]: r["answerability"] for r in file} for file in files]
    reports = list(rows[0])
    return np.array([[row[report] for row in rows] for report in reports]).transpose(
        0, 2, 1
    ), reports


def asked_cells(setting=None):
    """The labels of the cells that were asked, (435, 3), or only those of one setting."""
    cells, reports = task_one()
    chosen = [setting in (None, setting_of(report)) for report in reports]
    flat = cells[chosen].reshape(-1, 3)
    return flat[(flat != NOT_ASKED).all(axis=1)]


def coverage(over_all=False):
    """The share of questions answered, (30 reports, 3 raters)."""
    cells, _ = task_one()
    asked = np.full((30, 3), 15) if over_all else (cells != NOT_ASKED).sum(axis=1)
    return (cells == 1).sum(axis=1) / asked


def settings():
    _, reports = task_one()
    return np.array([setting_of(report) for report in reports])


def test_the_cells_are_those_of_the_study():
    cells, reports = task_one()
    expect(
        "crux.t1.pairs",
        {
            "reports": len(reports),
            "questions_per_report": cells.shape[1],
            "cells": cells[:, :, 0].size,
            "asked": len(asked_cells()),
            "not_asked": int((cells == NOT_ASKED).all(axis=2).sum()),
        },
    )
    for r, person in enumerate(PEOPLE):
        values, numbers = np.unique(cells[:, :, r], return_counts=True)
        found = dict(zip(map(str, values.tolist()), numbers.tolist(), strict=True))
        assert found == NUMBERS["crux.t1.label_counts"]["value"][person]


def test_the_coefficients_of_task_one_match_the_reference_numbers():
    counts = counts_of(asked_cells(), 2)
    expect("crux.t1.fleiss_kappa", fleiss_kappa(counts))
    expect("crux.t1.fleiss_kappa", fleiss_kappa_pooled(counts))
    expect("crux.t1.randolph_kappa", randolph_kappa(counts, 2))
    expect("crux.t1.gwet_ac1", gwet_ac(counts, "nominal"))
    expect("crux.t1.percent_agreement_mean", percent_agreement(counts))
    expect("crux.t1.unanimous_share", (unit_agreement(counts) == 1).mean())


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_alpha_of_two_categories_is_the_same_at_every_level(level):
    expect(
        "crux.t1.krippendorff_alpha_nominal", krippendorff_alpha(counts_of(asked_cells(), 2), level)
    )


def test_the_pairs_of_task_one_match_the_reference_numbers():
    labels = asked_cells()
    tables = {pair_name(a, b): confusion(labels[:, a], labels[:, b], 2) for a, b in PAIRS}
    kappas = {name: cohen_kappa(table) for name, table in tables.items()}
    expect("crux.t1.cohen_kappa", kappas)
    expect("crux.t1.cohen_kappa_mean", np.mean(list(kappas.values())))
    expect("crux.t1.percent_agreement", {name: accuracy(table) for name, table in tables.items()})
    expect("crux.t1.positive_share", dict(zip(PEOPLE, labels.mean(axis=0), strict=True)))


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_coefficients_of_each_setting_match_the_reference_numbers(setting):
    counts = counts_of(asked_cells(setting), 2)
    expect(
        f"crux.t1.by_setting.{setting}",
        {
            "n": len(counts),
            "fleiss_kappa": fleiss_kappa(counts),
            "krippendorff_alpha_nominal": krippendorff_alpha(counts, "nominal"),
            "percent_agreement_mean": percent_agreement(counts),
        },
    )


def test_questions_that_were_not_asked_do_not_count():
    cells = task_one()[0].reshape(-1, 3)
    missing = counts_of(np.where(cells == NOT_ASKED, -1, cells), 2)
    expect("crux.t1.fleiss_kappa", fleiss_kappa(missing))
    for mistake in ("fleiss_minus2_as_0", "fleiss_minus2_as_category"):
        wrong = NUMBERS[f"crux.t1.wrong.{mistake}"]["value"]
        assert fleiss_kappa(missing) != pytest.approx(wrong, abs=0.001)


def test_the_listed_wrong_numbers_result_from_the_listed_mistakes():
    cells = task_one()[0].reshape(-1, 3)
    as_zero = counts_of(np.where(cells == NOT_ASKED, 0, cells), 2)
    as_category = counts_of(np.where(cells == NOT_ASKED, 2, cells), 3)
    expect("crux.t1.wrong.fleiss_minus2_as_0", fleiss_kappa(as_zero))
    expect("crux.t1.wrong.fleiss_minus2_as_category", fleiss_kappa(as_category))


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("convention", ["", "_over15"])
def test_the_mean_coverage_of_each_setting_matches_the_reference_numbers(setting, convention):
    shares = coverage(over_all=bool(convention))[settings() == setting]
    means = dict(zip(PEOPLE, shares.mean(axis=0), strict=True)) | {"all": shares.mean()}
    expect(f"crux.t1.coverage_mean{convention}.{setting}", means)


@pytest.mark.parametrize(
    ("name", "function"), [("spearman", spearman), ("kendall_tau_b", kendall), ("pearson", pearson)]
)
@pytest.mark.parametrize("convention", ["", "_over15"])
def test_the_correlations_of_coverage_match_the_reference_numbers(name, function, convention):
    shares = coverage(over_all=bool(convention))
    found = {pair_name(a, b): function(shares[:, a], shares[:, b]) for a, b in PAIRS}
    expect(f"crux.t1.coverage_{name}{convention}", found)


def test_the_coverage_of_the_majority_matches_the_reference_numbers():
    cells, _ = task_one()
    labels = np.where(cells == NOT_ASKED, -1, cells)
    reference = np.array([majority(report)[0] for report in labels])
    shares = (reference == 1).sum(axis=1) / (reference >= 0).sum(axis=1)
    found = {setting: shares[settings() == setting].mean() for setting in SETTINGS}
    expect("crux.t1.majority_coverage_mean", found)


@pytest.mark.parametrize("setting", SETTINGS[1:])
def test_the_difference_of_settings_on_the_same_topics_matches_the_reference_numbers(setting):
    shares, reports = coverage().mean(axis=1), task_one()[1]
    by_report = dict(zip(reports, shares, strict=True))
    topics = [report for report in reports if setting_of(report) == "oracle"]
    differences = np.array([by_report[t] - by_report[f"{setting}_{t}"] for t in topics])
    test = wilcoxon_signed_rank(differences)
    stated = NUMBERS["crux.t1.setting_difference"]
    expected = stated["value"][setting]
    within = {"rel": 0, "abs": stated["tolerance"]}
    assert test.difference.value == pytest.approx(expected["mean_difference"], **within)
    assert test.p_value == pytest.approx(expected["wilcoxon_p_two_sided"], **within)
    assert (differences > 0).sum() == expected["oracle_higher_in"]


@cache
def task_two():
    """The (47, 2) ratings that both raters gave, and which of them have no null question."""
    ratings = []
    for person in PEOPLE[:2]:
        records = lines(DATA / f"crux/annotations/{person}/qrels.jsonl")
        ratings.append(
            {
                (r["id"], r["document"], int(q)): rating
                for r in records
                for q, rating in r["relevances"].items()
                if rating != NOT_RATED
            }
        )
    cells, reports = task_one()
    asked = {report: cells[i, :, 0] != NOT_ASKED for i, report in enumerate(reports)}
    both = sorted(set(ratings[0]) & set(ratings[1]))
    codes = np.array([[person[key] for person in ratings] for key in both])
    return codes, np.array([asked[report][question] for report, _, question in both])


@pytest.mark.parametrize("entry", ["agreement", "agreement_without_null_questions"])
def test_the_coefficients_of_task_two_match_the_reference_numbers(entry):
    codes, asked = task_two()
    codes = codes if entry == "agreement" else codes[asked]
    x, y = codes.T
    counts, table = counts_of(codes, 6), confusion(x, y, 6)
    high = (codes >= 3).astype(int)
    binary = confusion(high[:, 0], high[:, 1], 2)
    expect(
        f"crux.t2.{entry}",
        {
            "n": len(codes),
            "exact": percent_agreement(counts),
            "within_1": (np.abs(x - y) <= 1).mean(),
            "cohen_kappa": cohen_kappa(table),
            "cohen_kappa_linear": cohen_kappa(table, "linear"),
            "cohen_kappa_quadratic": cohen_kappa(table, "quadratic"),
            "gwet_ac1": gwet_ac(counts, "nominal"),
            "gwet_ac2_quadratic": gwet_ac(counts, "ordinal"),
            "krippendorff_alpha_ordinal": krippendorff_alpha(counts, "ordinal"),
            "krippendorff_alpha_interval": krippendorff_alpha(counts, "interval"),
            "krippendorff_alpha_nominal": krippendorff_alpha(counts, "nominal"),
            "spearman": spearman(x, y),
            "kendall_tau_b": kendall(x, y),
            "binary_ge3_agreement": accuracy(binary),
            "binary_ge3_cohen_kappa": cohen_kappa(binary),
        },
    )


@cache
def alt_data(name):
    """Codes of people (U, R), codes of each judge (U,), queries (U,), annotators, categories."""
    folder = DATA / "alttest" / name
    people = json.loads((folder / "human_annotations.json").read_text("utf-8"))
    judges = json.loads((folder / "llm_annotations.json").read_text("utf-8"))
    items = sorted({item for labels in people.values() for item in labels})
    categories = sorted({label for labels in people.values() for label in labels.values()})
    code = {label: i for i, label in enumerate(categories)}
    human = np.array([[code.get(p.get(item), -1) for p in people.values()] for item in items])
    judge = {
        name: np.array([code[labels[item]] for item in items]) for name, labels in judges.items()
    }
    queries = np.unique([item.split("__")[0] for item in items], return_inverse=True)[1]
    return human, judge, queries, list(people), categories


@pytest.mark.parametrize("llm", LLMS)
@pytest.mark.parametrize(
    ("name", "level", "epsilon"),
    [("cebab_aspects", "nominal", 0.1), ("10k_prompts", "interval", 0.15)],
)
def test_the_alternative_annotator_test_is_as_published(name, level, epsilon, llm):
    human, judges, queries, annotators, _ = alt_data(name)
    test = alt_test(human, judges[llm], queries, level=level, epsilon=epsilon, names=annotators)
    expected = NUMBERS[f"alttest.{name}.alt_test.{llm}"]
    found = {
        "omega": test.winning_rate,
        "rho": test.advantage_probability,
        "passed": number(test.winning_rate) >= 0.5,
        "annotators_tested": len(test.annotators),
    }
    assert found == pytest.approx(expected["value"], rel=0, abs=expected["tolerance"])
    table = reference_tables()[f"alttest.{name}.alt_test"][llm]
    assert {a.name for a in test.annotators} == set(table)
    for a in test.annotators:
        row = table[a.name]
        assert (a.n, a.wins) == (row["n"], row["rejected"])
        assert a.p_value == pytest.approx(row["p"], rel=1e-3)
        assert a.advantage_probability == pytest.approx(row["rho"], abs=1e-5)


def test_aspects_of_a_review_form_one_query_and_each_prompt_is_its_own():
    for name, decides in (("cebab_aspects", "by_query"), ("10k_prompts", "items")):
        human, judges, queries, _, _ = alt_data(name)
        test = alt_test(human, judges["gpt-4o"], queries, level="nominal", epsilon=0.1)
        assert test.decides == decides


def test_the_agreement_of_the_crowd_workers_matches_the_reference_numbers():
    counts = counts_of(alt_data("cebab_aspects")[0], 3)
    expect(
        "alttest.cebab_aspects.agreement",
        {
            "percent_agreement_pooled": percent_agreement_pooled(counts),
            "percent_agreement_item_mean": percent_agreement(counts),
            "fleiss_kappa_item_mean": fleiss_kappa(counts),
            "fleiss_kappa_pooled": fleiss_kappa_pooled(counts),
            "krippendorff_alpha_nominal": krippendorff_alpha(counts, "nominal"),
            "gwet_ac1": gwet_ac(counts, "nominal"),
            "categories": counts.shape[1],
        },
    )


def test_the_agreement_of_the_skilled_annotators_matches_the_reference_numbers():
    human, _, _, annotators, _ = alt_data("10k_prompts")
    values = np.where(human < 0, np.nan, human)
    counts = counts_of(human, 5)
    shared, errors, correlations = 0, [], []
    for a, b in combinations(range(len(annotators)), 2):
        both = np.isfinite(values[:, a] - values[:, b])
        if both.any():
            shared += 1
            errors.append(np.abs(values[both, a] - values[both, b]))
            correlations.append(float(pearson(values[both, a], values[both, b])))
    expect(
        "alttest.10k_prompts.agreement",
        {
            "mae_mean_over_annotator_pairs": np.mean([e.mean() for e in errors]),
            "mae_pooled": np.concatenate(errors).mean(),
            "pearson_mean_over_annotator_pairs": np.nanmean(correlations),
            "annotator_pairs": shared,
            "annotator_pairs_with_defined_pearson": int(np.isfinite(correlations).sum()),
            "krippendorff_alpha_interval": krippendorff_alpha(counts, "interval"),
            "krippendorff_alpha_ordinal": krippendorff_alpha(counts, "ordinal"),
            "gwet_ac1": gwet_ac(counts, "nominal"),
            "gwet_ac2_quadratic": gwet_ac(counts, "ordinal"),
            "percent_agreement_pooled": percent_agreement_pooled(counts),
        },
    )


@pytest.mark.parametrize("llm", LLMS)
def test_judges_compared_with_the_majority_match_the_reference_numbers(llm):
    human, judges, _, _, categories = alt_data("cebab_aspects")
    reference, ties = majority(human)
    table = confusion(reference, judges[llm], 3)
    pair = np.stack([reference, judges[llm]], axis=1)[~ties]
    stated = NUMBERS[f"alttest.cebab_aspects.llm_vs_majority.{llm}"]
    within = {"rel": 0, "abs": stated["tolerance"]}
    found = {
        "accuracy": accuracy(table),
        "cohen_kappa": cohen_kappa(table),
        "krippendorff_alpha_nominal": krippendorff_alpha(counts_of(pair, 3), "nominal"),
        "items": table.sum(),
        "ties_left_out": ties.sum(),
    }
    expected = dict(stated["value"])
    classes = expected.pop("classes")
    assert found == pytest.approx(expected, **within)
    columns = np.stack([precision(table), recall(table), f1(table), table.sum(axis=1)], axis=1)
    for category, row in zip(categories, columns, strict=True):
        of_class = dict(zip(("precision", "recall", "f1", "support"), row, strict=True))
        assert of_class == pytest.approx(classes[category], **within)


@pytest.mark.parametrize("llm", LLMS)
def test_judges_compared_with_the_mean_match_the_reference_numbers(llm):
    human, judges, _, _, _ = alt_data("10k_prompts")
    mean = np.nanmean(np.where(human < 0, np.nan, human), axis=1)
    expect(
        f"alttest.10k_prompts.llm_vs_mean.{llm}",
        {
            "spearman": spearman(mean, judges[llm]),
            "kendall_tau_b": kendall(mean, judges[llm]),
            "pearson": pearson(mean, judges[llm]),
            "mae": np.abs(mean - judges[llm]).mean(),
        },
    )
