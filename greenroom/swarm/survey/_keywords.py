"""Any task but the survey: the playbook cannot reason, so it searches for the words of the task and says so."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

from greenroom.models import AnswerLike, Call, ModelRequest, ToolResultBlock
from greenroom.swarm.survey._facts import Hit, SearchFacts
from greenroom.swarm.survey._items import SurveyItem, SurveySearch
from greenroom.swarm.survey._markdown import code, escaped, left_out_section, left_out_summary, more, table
from greenroom.swarm.survey._paths import DATA_SUFFIXES, is_test

if TYPE_CHECKING:
    from greenroom.swarm.survey._survey import Survey

MAX_KEYWORDS: Final = 8
_MAX_FILES: Final = 15
_SHOWN_LINES: Final = 5
_MAX_PLACES: Final = 10
_HONESTLY: Final = (
    "**This is a search for the words of the task, not an answer to it.** It was made by rules, without a language "
    "model. With `ANTHROPIC_API_KEY` set, the same team works on the task itself."
)
_QUOTED: Final = re.compile(r"[\"“`']([^\"“”`'\n]{2,60})[\"”`']")
_WORD: Final = re.compile(r"[A-Za-z_][\w.]{2,}|\d{3,}")
_COMMON: Final = frozenset(
    """
    about above after again against all also and another any are because been before being below between both but can
    cannot code could describe did does doing done down each every explain few file files find folder for from function
    further get give had has have having here how identify into its itself just know let like list look make many may me
    might more most much must need needs not now off once one only onto other our out over own please project
    repository report same say see several shall she should show some such sure tell than that the their them then
    there these they this those through under until use used uses using very want was way well were what when where
    whether which while who whom whose why will with within without work works would write you your
    """.split()  # noqa: SIM905 - a list of words in quotes is not easier to read
)


def keywords_of(task: str) -> tuple[str, ...]:
    """Return the words to search for: quoted words first, then those that are not common."""
    quoted = [found.strip() for found in _QUOTED.findall(task)]
    rest = _QUOTED.sub(" ", task)
    words = [word.strip(".") for word in _WORD.findall(rest)]
    wanted = [word for word in words if word.lower() not in _COMMON and len(word) > 2]
    unique = {word.lower(): word for word in reversed([*quoted, *wanted]) if word}
    order = [word.lower() for word in [*quoted, *wanted]]
    return tuple(unique[word] for word in dict.fromkeys(order) if word in unique)[:MAX_KEYWORDS]


def plan_keywords(task: str) -> tuple[SurveyItem, ...]:
    """Return one item for each keyword of a task."""
    return tuple(
        SurveyItem(
            subject=f"Search for {word!r}",
            searches=(SurveySearch(word, re.escape(word), f"!*.{{{DATA_SUFFIXES}}}", ignores_case=True),),
        )
        for word in keywords_of(task)
    )


def write_keyword_report(task: str, survey: Survey) -> str:
    """Return the report of a search for the words of a task."""
    words = keywords_of(task)
    found = {word: survey.searches[word] for word in words if word in survey.searches}
    left_out = [f"{code(word)}: no findings reached the lead" for word in words if word not in found]
    left_out += survey.listing.skip_lines
    said = left_out_summary(left_out)
    lines = [
        f"# Keyword search: {escaped(survey.folder)}",
        "",
        f"Task: {' '.join(task.split())}",
        "",
        _HONESTLY,
        "",
        "## Summary",
        "",
    ]
    if not survey.listing.total:
        lines.append(survey.listing.problem or "The folder is empty. There is nothing to search.")
    elif not words:
        lines.append("The task holds no word to search for: put one in quotes.")
    else:
        rows = [(code(word), len(one.hits), one.files, one.problem or _cut(one)) for word, one in found.items()]
        lines += [*table(("Word", "Lines", "Files", "Note"), rows), *(["", *said] if said else [])]
        lines += _by_file(found)
        for word, facts in found.items():
            lines += _places(word, facts)
    endings = DATA_SUFFIXES.replace(",", ", ")
    lines += left_out_section([*left_out, f"Data files ({endings}) and what ignore files name."])
    return "\n".join(lines) + "\n"


def _cut(facts: SearchFacts) -> str:
    return "there are more" if facts.is_cut else ""


def _by_file(found: dict[str, SearchFacts]) -> list[str]:
    words: dict[str, set[str]] = defaultdict(set)
    hits: Counter[str] = Counter()
    for word, facts in found.items():
        for hit in facts.hits:
            words[hit.path].add(word)
            hits[hit.path] += 1
    order = sorted(hits, key=lambda path: (-len(words[path]), -hits[path], path))
    if not order:
        return ["", "None of the words occurs."]
    rows = [
        (code(path), ", ".join(code(word) for word in found if word in words[path]), hits[path])
        for path in order[:_MAX_FILES]
    ]
    return [
        *("", "## Where most of them meet", ""),
        *table(("File", "Words", "Lines"), rows),
        *more(_MAX_FILES, len(order), "files"),
    ]


def _places(word: str, facts: SearchFacts) -> list[str]:
    if not facts.hits:
        return []
    shown = sorted(facts.hits, key=lambda hit: (_rank(hit, word), hit.path, hit.line))[:_MAX_PLACES]
    lines = ["", f"## {code(word)}", ""]
    lines += [f"- {code(f'{hit.path}:{hit.line}')} {code(hit.text)}" for hit in shown]
    return lines + more(len(shown), len(facts.hits), "lines")


def _rank(hit: Hit, word: str) -> int:
    """Definitions first, then other code, then tests."""
    is_definition = re.search(
        rf"\b(class|def|fn|func|function|struct|type)\s+\w*{re.escape(word)}", hit.text, re.IGNORECASE
    )
    return 2 if is_test(hit.path) else 0 if is_definition else 1


def play_search(request: ModelRequest) -> AnswerLike:
    """Search for the words of the latest prompt, and answer with their places: all that rules can do."""
    asked = [message for message in request.messages if message.role == "user" and message.text.strip()]
    if request.messages[-1] in asked:
        words = keywords_of(asked[-1].text)
        if not words:
            return "There is no word in that to search for, and this model can do nothing else."
        return [Call("Grep", {"pattern": re.escape(word), "-i": True, "output_mode": "count"}) for word in words]
    calls = request.messages[-2].tool_uses
    results = {
        block.tool_use_id: block.content for block in request.messages[-1].content if isinstance(block, ToolResultBlock)
    }
    found = [_found(str(call.input.get("pattern", "")), results.get(call.id, "")) for call in calls]
    return "\n".join(["A search for the words of the question, by rules, without a language model.", *found])


def _found(pattern: str, result: str) -> str:
    lines = result.strip().splitlines()
    shown = [f"    {line}" for line in lines[:_SHOWN_LINES]]
    return "\n".join([f"{pattern}:", *shown, *(["    ..."] if len(lines) > _SHOWN_LINES else [])])
