"""A check report as files that other programs read: JUnit XML and JSON."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree as ET  # only written here, never read

from workbench.recordings.report import NO_CODE, NOT_READ, CheckReport, CheckRow
from workbench.views import report as report_view
from workbench.views.characters import visible

FORMAT = 1
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML 1.0 file may hold, not even escaped."""


def junit_xml(report: CheckReport) -> str:
    """The report as JUnit XML: a test case for each row, named by its instance id.

    The class name is the orchestration, with the version of the code where there are several. A row that did not
    pass is a failure with the explanation, a recording that could not be read is an error, and one without code that
    may have none is skipped. Only rows that decide fail (see `CheckReport.failures`); others are skipped with the
    reason.
    """
    failing = {id(row) for row in report.failures}
    suite = ET.Element("testsuite", name="workbench check")
    counts = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    for row in report.rows:
        counts["tests"] += 1
        version = "" if row.code_version is None else f" {row.code_version}"
        case = ET.SubElement(suite, "testcase", classname=_xml(f"{row.orchestration}{version}"))
        case.set("name", _xml(row.instance_id))
        result = _result(row, id(row) in failing)
        if result is not None:
            tag, plural = result
            counts[plural] += 1
            ET.SubElement(case, tag, message=_xml(_message(row))).text = _xml(_explanation(row))
    for name, count in counts.items():
        suite.set(name, str(count))
    suites = ET.Element("testsuites")
    suites.append(suite)
    ET.indent(suites)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def report_json(report: CheckReport) -> str:
    """The report as JSON: what passed in short, and an object for each row with the columns of its data frame."""
    rows = [dict(zip(report_view.COLUMNS, row, strict=True)) for row in report_view.records(report.rows)]
    content = {
        "format": FORMAT,
        "passed": report.passed,
        "summary": report_view.line(report),
        "in_flight": len(report.in_flight),
        "can_take": len(report.can_take),
        "must_stay": [row.instance_id for row in report.must_stay],
        "rows": rows,
    }
    return json.dumps(content, indent=1) + "\n"


def _result(row: CheckRow, fails: bool) -> tuple[str, str] | None:
    """The element of a row, and the attribute that counts it."""
    if row.verdict == NOT_READ:
        return "error", "errors"
    if fails:
        return "failure", "failures"
    return ("skipped", "skipped") if row.verdict == NO_CODE or not row.passed else None


def _message(row: CheckRow) -> str:
    differs = report_view.what_differs(row)
    return f"{report_view.verdict(row)}: {differs}" if differs else report_view.verdict(row)


def _explanation(row: CheckRow) -> str:
    """The whole explanation of a divergence; else the line again, since readers of JUnit show the text."""
    return _message(row) if row.divergence is None else row.divergence.text()


def _xml(text: str) -> str:
    return _NOT_XML.sub(lambda found: visible(found[0]) if visible(found[0]) != found[0] else "�", text)
