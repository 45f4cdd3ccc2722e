"""
Ten questions of a citizen, answered on the data page: by mouse, by keyboard, and without script.

A step is a click, a key that does the same, or a text that is typed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from selenium.webdriver import ActionChains, Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

from .test_browser import press, set_size, tab_to, wait_until

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to" / "read-the-data-page.md"


class Step(NamedTuple):
    """A place, and what is typed or chosen there; nothing is a click."""

    selector: str
    text: str = ""


class Question(NamedTuple):
    """The steps to the answer, where it then stands, and how it begins."""

    words: str
    steps: Sequence[Step]
    place: str
    answer: Sequence[str]
    #: Whether the answer is a link to a file, which one more step takes.
    is_file: bool = False

    @property
    def step_count(self) -> int:
        """The steps to the answer."""
        return len(self.steps) + self.is_file


def check(field: str, value: str) -> Step:
    return Step(f".datastore-facets [name='field.{field}'][value='{value}']")


def column(position: int) -> str:
    return f".datastore-table tbody tr td:nth-of-type({position})"


APPLY = Step(".datastore-facets > details > p button")


def menu(position: int) -> Step:
    return Step(f"thead th:nth-child({position + 1}) summary")


QUESTIONS = [
    Question(
        "Which five projects in the Delta cost most?",
        [check("region", "Delta"), APPLY, menu(9), Step("thead button[value='sort=budget+desc']")],
        column(2),
        [
            "Vesper Ridge household survey",
            "Fenwick Dune dune profile",
            "Alder Bay tide poles",
            "Quill Basin flow gauging",
            "Tarn Transect repeat levelling",
        ],
    ),
    Question(
        "How many surveys began each year?",
        [
            check("subject", "survey"),
            APPLY,
            Step(".datastore-tabs a[href*='/chart/']"),
            Step("#proposals + ul a[href*='count&by=start_date'][href$='year']"),
        ],
        ".datastore-figures tbody tr",
        [
            "2012 incomplete 6",
            "2013 16",
            "2014 20",
            "2015 29",
            "2016 34",
            "2017 22",
            "2018 28",
            "2019 41",
        ],
    ),
    Question(
        "How many projects are about otters?",
        [Step("#q", "otter"), Step("#q + button")],
        "caption bdi",
        ["1–25 of 115"],
    ),
    Question(
        "What is known about project 002?",
        [Step("#q", "002"), Step("#q + button"), Step(".datastore-table tbody .h a")],
        ".datastore-record dd",
        ["002", "Vesper Basin flow gauging"],
    ),
    Question(
        "Which projects lack a lead?",
        [menu(6), Step("thead button[value='empty.lead=yes']")],
        column(1),
        ["1681", "1738", "1746", "1751", "1762"],
    ),
    Question(
        "Which projects cost between 20,000 and 21,000?",
        [
            Step(".datastore-facets [name='from.budget']", "20,000"),
            Step(".datastore-facets [name='to.budget']", "21,000"),
            APPLY,
        ],
        column(1),
        ["078", "098", "140", "158", "165"],
    ),
    Question(
        "How many projects are at each stage in the Karst?",
        [check("region", "Karst"), APPLY],
        ".datastore-facets [name='field.stage'] ~ b",
        ["119", "56", "25", "8"],
    ),
    Question(
        "Which projects start in the last days of 2020?",
        [
            Step(".datastore-search details > summary"),
            Step("[name='from.start_date']", "12/28/2020"),
            Step("[name='to.start_date']", "12/31/2020"),
            Step(".datastore-search details > button:not([type])"),
        ],
        column(1),
        ["920", "1212", "1216", "1339", "1345"],
    ),
    Question(
        "How do I request the closed ones in R?",
        [
            check("stage", "closed"),
            APPLY,
            Step(".datastore-menu:last-of-type > summary"),
            Step("a[href^='api/']"),
            Step(".datastore-program:nth-of-type(5) summary"),
        ],
        ".datastore-program[open] code",
        ["library(httr2)"],
    ),
    Question(
        "Take the coast's to Excel",
        [check("subject", "coast"), APPLY, Step(".datastore-menu > summary")],
        ".datastore-downloads button[value='xlsx']",
        ["Excel"],
        is_file=True,
    ),
]


def take_by_mouse(browser: Chrome, step: Step) -> None:
    element = browser.find_element(By.CSS_SELECTOR, step.selector)
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    if element.tag_name == "select":
        Select(element).select_by_visible_text(step.text)
    elif element.get_attribute("type") == "date":
        element.send_keys(step.text)  # a click may be on the year, and typing goes on from there
    else:
        # Selenium takes what is in a folded "details" for hidden, though it is shown.
        ActionChains(browser).click(element).perform()
        if step.text:
            press(browser, step.text)


def take_by_keyboard(browser: Chrome, step: Step) -> None:
    tab_to(browser, step.selector)
    is_box = (
        browser.find_element(By.CSS_SELECTOR, step.selector).get_attribute("type") == "checkbox"
    )
    press(browser, step.text or (Keys.SPACE if is_box else Keys.ENTER))


def has_left(browser: Chrome, address: str) -> bool:
    return browser.current_url != address


def test_the_documentation_has_the_steps_of_each_question() -> None:
    rows = re.findall(
        r"^\| (.*\?|Take .*) \| (\d+): ", HOW_TO.read_text(encoding="utf-8"), re.MULTILINE
    )

    assert rows == [(question.words, str(question.step_count)) for question in QUESTIONS]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("take", "has_script"),
    [(take_by_mouse, True), (take_by_keyboard, True), (take_by_mouse, False)],
    ids=["mouse", "keyboard", "without script"],
)
def test_ten_questions_are_answered(
    browser: Chrome, page: str, take: Callable[[Chrome, Step], None], has_script: bool
) -> None:
    set_size(browser, 1440, 900)
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not has_script})
    for question in QUESTIONS:
        browser.get(page)
        last = Step("")
        for step in question.steps:
            # With script, a checked box applies itself.
            if not (has_script and step == APPLY and "[value=" in last.selector):
                before = browser.current_url
                element = browser.find_element(By.CSS_SELECTOR, step.selector)
                is_applied = has_script and element.get_attribute("type") == "checkbox"
                leads_on = is_applied or element.tag_name in {"a", "button"}
                take(browser, step)
                if leads_on:
                    wait_until(browser, partial(has_left, browser, before))
            last = step
        places = partial(browser.find_elements, By.CSS_SELECTOR, question.place)
        wait_until(browser, places)
        answers = [" ".join(str(each.get_property("innerText")).split()) for each in places()]
        shown = [each[: len(text)] for each, text in zip(answers, question.answer, strict=False)]
        assert shown == question.answer, question.words
