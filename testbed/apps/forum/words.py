"""The words of the forum's first day: its members' names, its communities, and what is talked about."""

from __future__ import annotations

ANIMALS = ("otter", "heron", "badger", "lynx", "raven", "marten", "finch", "viper", "ibex", "crane", "newt", "stoat")
"""A member's name is one of them and a number."""
COMMUNITIES = {
    "gardening": "soil seeds harvest",
    "cycling": "bikes routes repairs",
    "baking": "bread cakes ovens",
    "astronomy": "stars planets",
    "chess": "openings endgames",
    "woodwork": "timber joints tools",
    "photography": "lenses light film",
    "hiking": "trails boots maps",
    "cooking": "recipes kitchens",
    "music": "records concerts",
    "films": "cinema directors",
    "books": "novels essays",
    "history": "archives empires",
    "physics": "fields particles",
    "maths": "proofs puzzles",
    "biology": "cells species",
    "chemistry": "reactions labs",
    "programming": "code compilers",
    "databases": "queries indexes",
    "linux": "kernels shells",
    "networking": "routers cables",
    "security": "locks keys",
    "electronics": "circuits solder",
    "robotics": "motors sensors",
    "aviation": "wings airports",
    "trains": "rails timetables",
    "sailing": "boats winds",
    "running": "races shoes",
    "football": "matches goals",
    "tennis": "courts rackets",
    "swimming": "pools strokes",
    "climbing": "ropes walls",
    "travel": "cities journeys",
    "languages": "grammar words",
    "teaching": "schools lessons",
    "parenting": "children sleep",
    "pets": "dogs cats",
    "aquariums": "fish tanks",
    "beekeeping": "hives honey",
    "newcomers": "introductions first questions",
}
"""The last one is the quietest: newcomers try things out there."""
COMMON = ("the", "a", "with", "for", "and", "from", "this", "has", "very", "not", "my", "our", "when", "about", "more", "good")
OPENINGS = (
    "How do you look after",
    "What I learned about",
    "Anyone else struggling with",
    "My first attempt at",
    "Where to begin with",
    "The best advice on",
    "Does anybody still care for",
    "A short guide to",
    "Too much money for",
    "Mistakes to avoid with",
    "Looking for help with",
    "In praise of",
)
KINDS = ("old", "cheap", "simple", "broken", "large", "small", "new", "home-made", "second-hand", "difficult")
SUBJECTS = tuple(word for about in COMMUNITIES.values() for word in about.split())
_ONSETS = (
    "bra",
    "cle",
    "dro",
    "fi",
    "gru",
    "hal",
    "jo",
    "ka",
    "lum",
    "mer",
    "no",
    "pli",
    "qua",
    "ros",
    "sti",
    "tor",
    "ul",
    "ve",
    "wan",
)
_ENDS = (
    "ber",
    "dan",
    "fel",
    "ger",
    "kin",
    "lor",
    "mond",
    "net",
    "pel",
    "rick",
    "sen",
    "tum",
    "vor",
    "wick",
    "zen",
    "ling",
    "mar",
)
_RARE = tuple(onset + end for onset in _ONSETS for end in _ENDS)
TOPICS = (*SUBJECTS, *_RARE)
"""What sentences are about: subjects, and rare words."""
