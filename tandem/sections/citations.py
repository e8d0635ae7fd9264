"""The works that a methods paragraph cites, and the work behind each statistic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..statistics import AMONG, CORRELATIONS, OF_TWO
from .base import slotted

REFERENCES: Mapping[str, tuple[str, str]] = {
    "angelopoulos2023": (
        "(Angelopoulos, Duchi and Zrnic 2023)",
        "Angelopoulos, A. N., Duchi, J. C. and Zrnic, T. (2023). PPI++: Efficient "
        "Prediction-Powered Inference. arXiv:2311.01453.",
    ),
    "arvesen1970": (
        "(Arvesen and Schmitz 1970)",
        "Arvesen, J. N. and Schmitz, T. H. (1970). Robust procedures for variance component "
        "problems using the jackknife. Biometrics 26(4), 677–686.",
    ),
    "benjamini2001": (
        "(Benjamini and Yekutieli 2001)",
        "Benjamini, Y. and Yekutieli, D. (2001). The control of the false discovery rate in "
        "multiple testing under dependency. Annals of Statistics 29(4), 1165–1188.",
    ),
    "calderon2025": (
        "(Calderon, Reichart and Dror 2025)",
        "Calderon, N., Reichart, R. and Dror, R. (2025). The Alternative Annotator Test for "
        "LLM-as-a-Judge: How to Statistically Justify Replacing Human Annotators with LLMs. "
        "Proceedings of the 63rd Annual Meeting of the Association for Computational Linguistics, "
        "volume 1, 16051–16081.",
    ),
    "clarke2008": (
        "(Clarke and others 2008)",
        "Clarke, C. L. A., Kolla, M., Cormack, G. V., Vechtomova, O., Ashkan, A., Büttcher, S. and "
        "MacKinnon, I. (2008). Novelty and diversity in information retrieval evaluation. "
        "Proceedings of the 31st ACM SIGIR Conference, 659–666.",
    ),
    "cochran1977": (
        "(Cochran 1977)",
        "Cochran, W. G. (1977). Sampling Techniques. 3rd edition. Wiley.",
    ),
    "cohen1960": (
        "(Cohen 1960)",
        "Cohen, J. (1960). A coefficient of agreement for nominal scales. Educational and "
        "Psychological Measurement 20(1), 37–46.",
    ),
    "cohen1968": (
        "(Cohen 1968)",
        "Cohen, J. (1968). Weighted kappa: nominal scale agreement with provision for scaled "
        "disagreement or partial credit. Psychological Bulletin 70(4), 213–220.",
    ),
    "dawid1979": (
        "(Dawid and Skene 1979)",
        "Dawid, A. P. and Skene, A. M. (1979). Maximum likelihood estimation of observer "
        "error-rates using the EM algorithm. Applied Statistics 28(1), 20–28.",
    ),
    "efron1987": (
        "(Efron 1987)",
        "Efron, B. (1987). Better bootstrap confidence intervals. Journal of the American "
        "Statistical Association 82(397), 171–185.",
    ),
    "fleiss1971": (
        "(Fleiss 1971)",
        "Fleiss, J. L. (1971). Measuring nominal scale agreement among many raters. Psychological "
        "Bulletin 76(5), 378–382.",
    ),
    "fieller1954": (
        "(Fieller 1954)",
        "Fieller, E. C. (1954). Some problems in interval estimation. Journal of the Royal "
        "Statistical Society B 16(2), 175–185.",
    ),
    "hesterberg2015": (
        "(Hesterberg 2015)",
        "Hesterberg, T. C. (2015). What teachers should know about the bootstrap: resampling in "
        "the undergraduate statistics curriculum. The American Statistician 69(4), 371–386.",
    ),
    "gwet2008": (
        "(Gwet 2008)",
        "Gwet, K. L. (2008). Computing inter-rater reliability and its variance in the presence of "
        "high agreement. British Journal of Mathematical and Statistical Psychology 61(1), 29–48.",
    ),
    "hanley1982": (
        "(Hanley and McNeil 1982)",
        "Hanley, J. A. and McNeil, B. J. (1982). The meaning and use of the area under a receiver "
        "operating characteristic (ROC) curve. Radiology 143(1), 29–36.",
    ),
    "holm1979": (
        "(Holm 1979)",
        "Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian "
        "Journal of Statistics 6(2), 65–70.",
    ),
    "jarvelin2002": (
        "(Järvelin and Kekäläinen 2002)",
        "Järvelin, K. and Kekäläinen, J. (2002). Cumulated gain-based evaluation of IR techniques. "
        "ACM Transactions on Information Systems 20(4), 422–446.",
    ),
    "ju2025": (
        "(Ju and others 2025)",
        "Ju, J.-H., Verberne, S., de Rijke, M. and Yates, A. (2025). Controlled "
        "Retrieval-augmented Context Evaluation for Long-form RAG. Findings of the Association for "
        "Computational Linguistics: EMNLP 2025.",
    ),
    "kendall1945": (
        "(Kendall 1945)",
        "Kendall, M. G. (1945). The treatment of ties in ranking problems. Biometrika 33(3), "
        "239–251.",
    ),
    "kish1965": (
        "(Kish 1965)",
        "Kish, L. (1965). Survey Sampling. Wiley.",
    ),
    "korn1998": (
        "(Korn and Graubard 1998)",
        "Korn, E. L. and Graubard, B. I. (1998). Confidence intervals for proportions with small "
        "expected number of positive counts estimated from survey data. Survey Methodology 24(2), "
        "193–201.",
    ),
    "krippendorff1995": (
        "(Krippendorff 1995)",
        "Krippendorff, K. (1995). On the reliability of unitizing continuous data. Sociological "
        "Methodology 25, 47–76.",
    ),
    "krippendorff2016": (
        "(Krippendorff and others 2016)",
        "Krippendorff, K., Mathet, Y., Bouvry, S. and Widlöcher, A. (2016). On the reliability of "
        "unitizing textual continua: further developments. Quality & Quantity 50(6), 2347–2364.",
    ),
    "krippendorff2019": (
        "(Krippendorff 2019)",
        "Krippendorff, K. (2019). Content Analysis: An Introduction to Its Methodology, 4th "
        "edition. Sage.",
    ),
    "lin2004": (
        "(Lin 2004)",
        "Lin, C.-Y. (2004). ROUGE: a package for automatic evaluation of summaries. Text "
        "Summarization Branches Out, 74–81.",
    ),
    "owen2007": (
        "(Owen 2007)",
        "Owen, A. B. (2007). The pigeonhole bootstrap. Annals of Applied Statistics 1(2), 386–411.",
    ),
    "pearson1895": (
        "(Pearson 1895)",
        "Pearson, K. (1895). Note on regression and inheritance in the case of two parents. "
        "Proceedings of the Royal Society of London 58, 240–242.",
    ),
    "qi2024": (
        "(Qi and others 2024)",
        "Qi, Z., Xu, R., Guo, Z., Wang, C., Zhang, H. and Xu, W. (2024). Long²RAG: Evaluating "
        "Long-Context & Long-Form Retrieval-Augmented Generation with Key Point Recall. Findings "
        "of the Association for Computational Linguistics: EMNLP 2024.",
    ),
    "passonneau2006": (
        "(Passonneau 2006)",
        "Passonneau, R. J. (2006). Measuring agreement on set-valued items (MASI) for semantic and "
        "pragmatic annotation. Proceedings of the Fifth International Conference on Language "
        "Resources and Evaluation, 831–836.",
    ),
    "randolph2005": (
        "(Randolph 2005)",
        "Randolph, J. J. (2005). Free-marginal multirater kappa (multirater κfree): an alternative "
        "to Fleiss' fixed-marginal multirater kappa. Joensuu Learning and Instruction Symposium.",
    ),
    "rosenthal2025": (
        "(Rosenthal and others 2025)",
        "Rosenthal, S., Sil, A., Florian, R. and Roukos, S. (2025). CLAPnq: Cohesive Long-form "
        "Answers from Passages in Natural Questions for RAG systems. Transactions of the "
        "Association for Computational Linguistics 13.",
    ),
    "sorodoc2025": (
        "(Sorodoc and others 2025)",
        "Sorodoc, I.-T., Ribeiro, L. F. R., Blloshmi, R., Davis, C. and de Gispert, A. (2025). "
        "GaRAGe: A Benchmark with Grounding Annotations for RAG Evaluation. Findings of the "
        "Association for Computational Linguistics: ACL 2025.",
    ),
    "shekhar2023": (
        "(Shekhar and others 2023)",
        "Shekhar, S., Xu, Z., Lipton, Z. C., Liang, P. J. and Ramdas, A. (2023). Risk-limiting "
        "financial audits via weighted sampling without replacement. Proceedings of the 39th "
        "Conference on Uncertainty in Artificial Intelligence.",
    ),
    "spearman1904": (
        "(Spearman 1904)",
        "Spearman, C. (1904). The proof and measurement of association between two things. "
        "American Journal of Psychology 15(1), 72–101.",
    ),
    "urbano2017": (
        "(Urbano and Marrero 2017)",
        "Urbano, J. and Marrero, M. (2017). The treatment of ties in AP correlation. Proceedings "
        "of the ACM SIGIR International Conference on Theory of Information Retrieval, 321–324.",
    ),
    "schuirmann1987": (
        "(Schuirmann 1987)",
        "Schuirmann, D. J. (1987). A comparison of the two one-sided tests procedure and the power "
        "approach for assessing the equivalence of average bioavailability. Journal of "
        "Pharmacokinetics and Biopharmaceutics 15(6), 657–680.",
    ),
    "waudby2020": (
        "(Waudby-Smith and Ramdas 2020)",
        "Waudby-Smith, I. and Ramdas, A. (2020). Confidence sequences for sampling without "
        "replacement. Advances in Neural Information Processing Systems 33.",
    ),
    "waudby2024": (
        "(Waudby-Smith and Ramdas 2024)",
        "Waudby-Smith, I. and Ramdas, A. (2024). Estimating means of bounded random variables by "
        "betting. Journal of the Royal Statistical Society B 86(1), 1–27.",
    ),
    "wilcoxon1945": (
        "(Wilcoxon 1945)",
        "Wilcoxon, F. (1945). Individual comparisons by ranking methods. Biometrics Bulletin 1(6), "
        "80–83.",
    ),
    "wilson1927": (
        "(Wilson 1927)",
        "Wilson, E. B. (1927). Probable inference, the law of succession, and statistical "
        "inference. Journal of the American Statistical Association 22(158), 209–212.",
    ),
    "yilmaz2008": (
        "(Yilmaz, Aslam and Robertson 2008)",
        "Yilmaz, E., Aslam, J. A. and Robertson, S. (2008). A new rank correlation coefficient for "
        "information retrieval. Proceedings of the 31st ACM SIGIR Conference, 587–594.",
    ),
    "zrnic2024": (
        "(Zrnic and Candès 2024)",
        "Zrnic, T. and Candès, E. J. (2024). Active Statistical Inference. Proceedings of the 41st "
        "International Conference on Machine Learning.",
    ),
}
"""By key: the citation in a text, and the full reference."""


CITED: Mapping[str, str] = {key: mark for key, (mark, _) in REFERENCES.items()}


_OTHERS = {"tau_AP": "yilmaz2008", "area under the ROC curve": "hanley1982"}
"""The works of other statistics, by the beginning of their methods."""


def cited_statistics(blocks: Any) -> list[str]:
    """Return the distinct statistics of blocks by name, with their citations."""
    names: dict[str, None] = {}
    for block in blocks:
        for method in methods_of(block, defined=True):
            names[method.partition("; ")[0]] = None
    return [
        f"{slotted(name)} {mark}" if (mark := _cited(name)) else slotted(name) for name in names
    ]


def _cited(method: str) -> str:
    """Return the citation of a method, by the coefficient with whose name or method it begins."""
    works = _OTHERS | {
        start: each.citation
        for each in (*AMONG.values(), *OF_TWO.values(), *CORRELATIONS.values())
        for start in (each.name, each.method.partition(", k =")[0].partition(", {")[0])
        if start and each.citation
    }
    found = [start for start in works if method.lower().startswith(start.lower())]
    return CITED[works[max(found, key=len)]] if found else ""


def methods_of(node: Any, defined: bool = False) -> Iterator[str]:
    """Yield the methods of all nested estimates.

    Strata repeat their parent's methods, and items of a score have none.
    """
    if isinstance(node, dict):
        if "method" in node and "value" in node:
            if node["value"] is not None or not defined:
                yield node["method"]
            return
        for key, each in node.items():
            if key not in ("strata", "items"):
                yield from methods_of(each, defined)
    elif isinstance(node, list):
        for each in node:
            yield from methods_of(each, defined)
