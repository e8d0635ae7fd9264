"""Invented public works: what the demonstration's reports are about, declared sentence by sentence.

A kind of works has four aspects. Each has its question, a sentence that answers it, and one that
comes close without answering it: half of a double question, an impression, a promise. On those,
people and judges differ. Words in braces are drawn for each place.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from analysis.example_studies.world import PEOPLE

STREETS = ("Mill Lane", "the Hay Market", "Bishop Street", "the Old Rampart")


@dataclass(frozen=True)
class Aspect:
    """A question about a place's works, and what a text may say of it.

    `answer` answers the question, and `near` does not. `subject` completes "nothing is said about",
    and `gap` says what `near` lacks.
    """

    question: str
    answer: str
    near: str
    subject: str
    gap: str


@dataclass(frozen=True)
class Works:
    """A kind of works, with a neutral opening sentence and four aspects."""

    name: str
    opening: str
    aspects: tuple[Aspect, ...]


KINDS = (
    Works(
        "tram line",
        "The tram line across {place} was argued over for ten years before the first rails came.",
        (
            Aspect(
                "Why did {place} decide to build a tram line?",
                "The council chose a tram because {thousands} thousand cars a day used the ring "
                "road and the buses were stuck among them.",
                "The council said that the old way of getting about had reached its limits.",
                "the reason for a tram",
                "“Reached its limits” names neither the traffic nor the buses; it is no reason "
                "that one could check.",
            ),
            Aspect(
                "What did the tram line in {place} cost, and who paid for it?",
                "It cost {million} million crowns, {percent} per cent of it from the state and the "
                "rest from a tax on parking.",
                "It cost {million} million crowns, more than twice the first estimate.",
                "the cost and who paid",
                "The sum is there, but who paid is asked as well, and that is left open.",
            ),
            Aspect(
                "Why did the tram line in {place} open late?",
                "It opened {months} months late, since a forgotten cemetery was found under "
                "{street} and had to be excavated first.",
                "It opened {months} months late, to the annoyance of the shops along {street}.",
                "the cause of the delay",
                "It says how late the line was, and not why.",
            ),
            Aspect(
                "How has the tram changed traffic in the centre of {place}?",
                "Counts at five crossings show {percent} per cent fewer cars in the centre than in "
                "the year before.",
                "Residents say that the centre has become quieter.",
                "traffic after the opening",
                "Quieter is what residents feel; nothing is said about the amount of traffic.",
            ),
        ),
    ),
    Works(
        "flood wall",
        "The river has been behind a wall in {place} since {year}.",
        (
            Aspect(
                "Which flood led to the wall in {place}, and what damage did it do?",
                "In the flood of {year} the river stood {metres} metres deep in {street}, and "
                "{number} houses had to be pulled down.",
                "The flood of {year} is still remembered as the worst that the town has seen.",
                "the damage of that flood",
                "The flood is named, but none of its damage.",
            ),
            Aspect(
                "Who opposed the flood wall in {place}, and why?",
                "The rowing club and the inns opposed it, because it takes away their view and "
                "their way to the water.",
                "There were objections until the last day, and {number} letters reached the mayor.",
                "who objected",
                "Objections are mentioned, but neither who made them nor on what grounds.",
            ),
            Aspect(
                "How high a flood does the wall in {place} hold back?",
                "It holds back a flood of {metres} metres above the quay, which is expected once "
                "in a hundred years.",
                "Its engineer, {person}, calls it strong enough for anything that is to be "
                "expected.",
                "the height that it holds back",
                "An engineer’s assurance without a height.",
            ),
            Aspect(
                "Has the wall in {place} been put to the test yet?",
                "In February it was closed for the first time, and the cellars of {street} stayed "
                "dry.",
                "Its gates are closed twice a year for practice.",
                "a real flood since then",
                "A practice is no test by a flood; whether one has come is not said.",
            ),
        ),
    ),
    Works(
        "public library",
        "The library of {place} closed in {year} and is open again, in another building.",
        (
            Aspect(
                "Why did the old library in {place} close?",
                "Inspectors found that its ceiling, built in {year}, could fall at any time.",
                "The old building no longer met the standards of today.",
                "why the old building was given up",
                "“The standards of today” may mean anything, from fire doors to shelves.",
            ),
            Aspect(
                "What was the building of the new library in {place} used for before?",
                "Until {year} the building was a dairy, and the reading room is where its churns "
                "stood.",
                "The building had stood empty for {months} months and had been threatened with "
                "demolition.",
                "the earlier use of the building",
                "That it stood empty is not what it had been used for.",
            ),
            Aspect(
                "How many people use the new library in {place}, compared with the old one?",
                "It counts {thousands} thousand visits a year, against half as many in the old "
                "house.",
                "It counts {thousands} thousand visits a year.",
                "the number of visitors",
                "The comparison with the old library is missing.",
            ),
            Aspect(
                "What do the librarians of {place} still lack?",
                "They lack a second lift and money for opening on Sundays.",
                "Its head, {person}, says that there is always something left to wish for.",
                "what is lacking",
                "Wishes are mentioned, but not a single one of them is named.",
            ),
        ),
    ),
    Works(
        "heat network",
        "Hot water from a pipe now heats much of {place}.",
        (
            Aspect(
                "Where does the heat of the network in {place} come from?",
                "Two thirds of the heat come from the glassworks and the rest from a heat pump in "
                "the river.",
                "The heat is, as the works put it, local and renewable.",
                "the source of the heat",
                "“Local and renewable” describes the source without naming it.",
            ),
            Aspect(
                "How many homes in {place} are connected, and how many are to follow?",
                "So far {number} homes are connected, and as many again are to follow by the end "
                "of the decade.",
                "So far {number} homes are connected.",
                "the number of homes",
                "Only the first half is answered; how many are to follow is not said.",
            ),
            Aspect(
                "What does the heat cost a household in {place}, compared with gas?",
                "A household pays about {percent} per cent less than it paid for gas.",
                "The tariff is fixed for five years, which tenants welcome.",
                "the price for households",
                "A fixed tariff may be high or low; there is no comparison with gas.",
            ),
            Aspect(
                "Why did the digging stop in {place} for a time?",
                "The digging stopped for {months} months because the contractor went bankrupt.",
                "For {months} months the trenches in {street} lay open, and nobody worked there.",
                "the interruption",
                "The interruption is described, but not its cause.",
            ),
        ),
    ),
    Works(
        "cycle bridge",
        "Since {year} a bridge for cyclists crosses the railway yard of {place}.",
        (
            Aspect(
                "How did people cross the railway yard of {place} before?",
                "Before, there was only the underpass of {street}, a detour of {months} minutes "
                "with stairs at both ends.",
                "Before, crossing the yard was a matter of patience.",
                "the way across before",
                "It suggests that the way was slow, and does not say which way it was.",
            ),
            Aspect(
                "Who designed the bridge in {place}, and how was the design chosen?",
                "{person} designed it and won a competition with {number} entries.",
                "{person} designed it, after a bridge that she had seen as a student.",
                "the designer",
                "The designer is named; how the design was chosen is not.",
            ),
            Aspect(
                "What went wrong when the bridge in {place} was lifted into place?",
                "One of the cranes sank into the ballast, and the span hung at an angle over the "
                "tracks for a night.",
                "The lifting took two nights instead of one.",
                "the lifting",
                "A delay is reported, but not what went wrong.",
            ),
            Aspect(
                "How many cyclists use the bridge in {place} on a working day?",
                "A counter in the deck records {thousands} hundred cyclists on a working day.",
                "In the first week, with music and free coffee, {thousands} thousand people "
                "crossed it.",
                "the number of cyclists",
                "The figure is for the opening week and for everybody, not for cyclists on a "
                "working day.",
            ),
        ),
    ),
    Works(
        "school kitchens",
        "The schools of {place} have cooked for themselves since {year}.",
        (
            Aspect(
                "Why did {place} end its contract with the caterer?",
                "The caterer had delivered the meals cold and late on {number} days of one year.",
                "Parents had been dissatisfied with the caterer for a long time.",
                "why the contract ended",
                "Dissatisfaction is reported, its cause is not.",
            ),
            Aspect(
                "What does a meal cost in {place}, and what do parents pay?",
                "A meal costs {months} crowns, of which parents pay half and poor families "
                "nothing.",
                "Poor families pay nothing, and nobody has to show a card at the counter.",
                "the price of a meal",
                "What poor families pay is only a part; neither the cost nor the usual price is "
                "given.",
            ),
            Aspect(
                "Where do the kitchens of {place} get their vegetables?",
                "Most vegetables come from {number} hectares that the town has leased to three "
                "farms.",
                "The head cook, {person}, buys fresh and in season.",
                "where the vegetables come from",
                "Fresh and in season is no place.",
            ),
            Aspect(
                "How many children eat at school in {place} now?",
                "Now {percent} per cent of the children eat at school, up from a quarter.",
                "More children than ever before eat at school.",
                "the number of children",
                "“More than ever” gives no number.",
            ),
        ),
    ),
    Works(
        "night bus",
        "A night bus has gone from {place} to the villages since {year}.",
        (
            Aspect(
                "Who asked for a night bus in {place}?",
                "The nurses of the hospital asked for it, whose late shift ends after the last "
                "train.",
                "The wish for it came from the people, as the mayor likes to recall.",
                "who had asked for it",
                "“The people” leaves open who they were.",
            ),
            Aspect(
                "Which villages around {place} does the night bus serve, and how often?",
                "It serves {stops} villages, each once an hour from midnight to five.",
                "It serves {stops} villages and turns at the saw mill.",
                "its villages and its timetable",
                "The villages are there, but not how often it goes.",
            ),
            Aspect(
                "How is the night bus of {place} paid for?",
                "The county pays {percent} per cent and the hospital the rest.",
                "Passengers pay nothing, and the bus is full on Saturdays.",
                "who pays for it",
                "That passengers pay nothing does not say who does.",
            ),
            Aspect(
                "What is to become of the night bus of {place} after the trial?",
                "In spring the county decided to keep it for {stops} more years.",
                "The trial ends in spring, and {person} is confident.",
                "what comes after the trial",
                "Confidence is not a decision.",
            ),
        ),
    ),
    Works(
        "water tower",
        "The water tower of {place} was built in {year} and has not held water for a generation.",
        (
            Aspect(
                "Why is the water tower of {place} no longer needed?",
                "It is not needed since pumps under {street} keep the pressure.",
                "It has been out of use for as long as most people here can remember.",
                "why it went out of use",
                "It says that the tower is out of use, and not why.",
            ),
            Aspect(
                "Who owns the water tower of {place} today, and what was paid for it?",
                "A cooperative of {number} members bought it for one crown.",
                "It now belongs to a cooperative of {number} members.",
                "its owner and the price",
                "The owner is named, the price is not.",
            ),
            Aspect(
                "What is being made of the water tower of {place}?",
                "The tank is becoming a climbing hall, with a café on the ground floor.",
                "Plans for it are on show in the town hall until the end of the month.",
                "its future use",
                "That there are plans does not say for what.",
            ),
            Aspect(
                "What has been found during the works on the tower in {place}?",
                "Behind a wall the workers found {number} bottles of wine and a builder’s diary.",
                "Work was interrupted for {months} days by an unexpected find.",
                "what was found",
                "A find is mentioned, but not what it was.",
            ),
        ),
    ),
)


def words_of(place: str, draw: Random) -> dict[str, str | int]:
    """Return what is drawn for one place's works, by the name in braces."""
    return {
        "place": place,
        "person": draw.choice(PEOPLE),
        "street": draw.choice(STREETS),
        "year": draw.randint(1991, 2019),
        "months": draw.randint(5, 19),
        "metres": draw.choice(("1.2", "1.4", "1.7", "2.1", "2.3")),
        "million": draw.randint(21, 96),
        "thousands": draw.randint(11, 38),
        "number": draw.randint(23, 140),
        "percent": draw.randint(22, 68),
        "stops": draw.randint(4, 9),
    }
