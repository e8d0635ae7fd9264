"""What each statistic is, in a line, with its source: documentation is made from this."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Statistic:
    """A public statistic: the function's name, what it says in one line, where it comes from."""

    name: str
    summary: str
    citation: str


_DECLARED = (
    Statistic(
        "percent_agreement",
        "Mean over units with two or more labels of the share of agreeing pairs of labels.",
        "Fleiss 1971",
    ),
    Statistic(
        "percent_agreement_pooled",
        "Share of agreeing pairs of labels, the pairs of all units taken together.",
        "Fleiss 1971",
    ),
    Statistic(
        "fleiss_kappa",
        "Agreement of any number of raters beyond chance from the overall category shares, "
        "averaged over units.",
        "Fleiss, Psychological Bulletin 76, 1971",
    ),
    Statistic(
        "fleiss_kappa_pooled",
        "Fleiss' kappa with all pairs of labels pooled; differs only with unequal label numbers.",
        "Fleiss, Psychological Bulletin 76, 1971; Calderon and others 2025 report this reading",
    ),
    Statistic(
        "randolph_kappa",
        "Agreement beyond chance where each of the k categories is equally likely.",
        "Randolph, Joensuu Learning and Instruction Symposium 2005",
    ),
    Statistic(
        "krippendorff_alpha",
        "One minus observed over expected disagreement; any raters, missing labels, any level.",
        "Krippendorff, Computing Krippendorff's Alpha-Reliability, 2011",
    ),
    Statistic(
        "gwet_ac",
        "Agreement beyond a chance that stays low where one category prevails: AC1, or AC2 with "
        "quadratic weights for ordered categories.",
        "Gwet, British Journal of Mathematical and Statistical Psychology 61, 2008; Handbook, 2014",
    ),
    Statistic(
        "cohen_kappa",
        "Agreement of two raters beyond chance from each one's own category shares; plain, linear "
        "or quadratic weights.",
        "Cohen, Educational and Psychological Measurement 20, 1960; Psychological Bulletin 70, "
        "1968",
    ),
    Statistic(
        "majority",
        "The most frequent human label of a unit; none where several tie.",
        "convention",
    ),
    Statistic(
        "precision",
        "Of the units to which the judge gives a category, the share where people agree.",
        "van Rijsbergen, Information Retrieval, 1979",
    ),
    Statistic(
        "recall",
        "Of the units to which people give a category, the share where the judge agrees.",
        "van Rijsbergen, Information Retrieval, 1979",
    ),
    Statistic(
        "f1",
        "Harmonic mean of precision and recall of a category.",
        "van Rijsbergen, Information Retrieval, 1979",
    ),
    Statistic(
        "accuracy",
        "Share of units on which the judge gives the reference's category.",
        "convention",
    ),
    Statistic(
        "spearman",
        "Correlation of the ranks of two scores, ties at their average rank.",
        "Spearman, American Journal of Psychology 15, 1904",
    ),
    Statistic(
        "kendall",
        "tau-b: concordant less discordant pairs, corrected for ties in either score.",
        "Kendall, Biometrika 33, 1945",
    ),
    Statistic(
        "pearson",
        "Linear correlation of two scores.",
        "Pearson, Proceedings of the Royal Society 58, 1895",
    ),
    Statistic(
        "alt_test",
        "Alternative annotator test: the share of annotators whom the judge may replace.",
        "Calderon, Reichart and Dror, ACL 2025; Benjamini and Yekutieli, Annals of Statistics 29, "
        "2001",
    ),
    Statistic(
        "epsilon_curve",
        "The alternative annotator test over a range of epsilon.",
        "Calderon, Reichart and Dror, ACL 2025",
    ),
    Statistic(
        "people_only_mean",
        "Mean of the queries that people labelled, with a t interval.",
        "Student, Biometrika 6, 1908",
    ),
    Statistic(
        "prediction_powered_mean",
        "Mean from few human and many judge scores, corrected for the judge's error (PPI++).",
        "Angelopoulos and others, Science 382, 2023; Angelopoulos, Duchi and Zrnic, PPI++, 2023",
    ),
    Statistic(
        "fixed_collection_mean",
        "The same for exactly these queries, claiming nothing beyond them.",
        "Cochran, Sampling Techniques, 1977, chapter 7: difference estimator",
    ),
    Statistic(
        "effective_labels",
        "How many labelled queries the prediction-powered estimate is worth.",
        "Angelopoulos and others, Science 382, 2023",
    ),
    Statistic(
        "mean_by_cluster",
        "Mean over items with a t interval that takes queries as the independent units.",
        "Cochran, Sampling Techniques, 1977, chapter 6; Liang and Zeger, Biometrika 73, 1986",
    ),
    Statistic(
        "cluster_weights",
        "Bootstrap of whole queries: all items of a query are drawn together.",
        "Efron and Tibshirani, An Introduction to the Bootstrap, 1993; Davison and Hinkley, 1997",
    ),
    Statistic(
        "proportion",
        "A share of labels, such as that of a judge's which people confirmed.",
        "Wilson, Journal of the American Statistical Association 22, 1927",
    ),
    Statistic(
        "wilson_interval",
        "Interval of a share that is sound for few labels and for shares near 0 and 1.",
        "Wilson, Journal of the American Statistical Association 22, 1927",
    ),
    Statistic(
        "wilcoxon_signed_rank",
        "Whether paired differences lie around zero, from their ranks; exact also with ties.",
        "Wilcoxon, Biometrics Bulletin 1, 1945",
    ),
    Statistic(
        "rouge_l",
        "Share of two texts' words that stand in both in the same order; words are not stemmed.",
        "Lin, ROUGE, Text Summarization Branches Out, 2004",
    ),
    Statistic(
        "paired_t",
        "Whether two systems differ on the same queries, from the query means.",
        "Student, Biometrika 6, 1908",
    ),
)

#: Name -> declaration, in the order of the documentation.
STATISTICS: dict[str, Statistic] = {statistic.name: statistic for statistic in _DECLARED}
