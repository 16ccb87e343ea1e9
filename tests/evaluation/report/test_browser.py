"""The page of the report in a real Chromium."""

from __future__ import annotations

import base64
import json
import shutil

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix

from svmproba import BootstrapSVC
from svmproba.evaluation import mean_cost, write_report

pytest.importorskip("jinja2", reason="the report needs jinja2")
webdriver = pytest.importorskip("selenium.webdriver", reason="no selenium to drive a browser")
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-background-networking "
    "--disable-component-update --disable-sync --no-first-run --hide-scrollbars"
)
COSTS = {"fn": 5.0, "fp": 1.0}


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    chromium = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None
    )
    chromedriver = shutil.which("chromedriver")
    if chromium is None or chromedriver is None:
        pytest.skip("no chromium and chromedriver on the path")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in [*FLAGS.split(), f"--user-data-dir={tmp_path_factory.mktemp('profile')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(chromedriver))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory, ensemble, calibrated, new_data):
    """Address of the page of either kind of model."""
    folder = tmp_path_factory.mktemp("pages")
    models = {"votes": ensemble, "calibrated": calibrated}
    return {
        name: write_report(model, *new_data, folder / f"{name}.html", about={"costs": COSTS})
        .resolve()
        .as_uri()
        for name, model in models.items()
    }


@pytest.fixture
def window(browser):
    """Open addresses in a window of a width, light or dark, on screen or paper."""

    def open_(address, width=1200, scheme="light", media="screen", scripts=True):
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        scheme = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": scheme})
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not scripts})
        for kind in ("browser", "performance"):
            browser.get_log(kind)
        browser.get(address)
        return browser

    yield open_
    assert browser.get_log("browser") == []


def live(browser):
    """Read the live numbers."""
    names = ("tp", "fn", "fp", "tn", "tpr", "tnr", "precision", "cost")
    found = {}
    for name in names:
        element = browser.find_element(By.CSS_SELECTOR, f"output[data-live='{name}']")
        found[name] = float(element.get_attribute("data-value") or "nan")
        found[f"{name}_text"] = element.text
    return found


def expected(model, X, y, costs=COSTS):
    """Compute the same numbers by the library."""
    predicted = model.predict(X)
    (tn, fp), (fn, tp) = confusion_matrix(y, predicted, labels=["no", "yes"])
    cost = mean_cost(y, predicted, fn_cost=costs["fn"], fp_cost=costs["fp"], pos_label="yes")
    with np.errstate(invalid="ignore"):
        rates = {"tpr": tp / (tp + fn), "tnr": tn / (tn + fp), "precision": np.divide(tp, tp + fp)}
    return {"tp": tp, "fn": fn, "fp": fp, "tn": tn, **rates, "cost": 1000 * cost}


def assert_shows(browser, wanted):
    shown = live(browser)
    for name, value in wanted.items():
        assert shown[name] == pytest.approx(value, nan_ok=True), name
    assert shown["tpr_text"] == f"{100 * wanted['tpr']:.1f} %"
    assert shown["tp_text"] == str(wanted["tp"])


@pytest.mark.parametrize("kind", ["votes", "calibrated"])
def test_the_slider_by_keyboard_shows_the_numbers_of_the_library(
    window, pages, kind, ensemble, calibrated, new_data
):
    model = {"votes": ensemble, "calibrated": calibrated}[kind]
    browser = window(pages[kind])
    assert_shows(browser, expected(model, *new_data))
    slider = browser.find_element(By.ID, "demand")
    keys = [
        ([Keys.END], 1.0),
        ([Keys.ARROW_LEFT] * 7, 0.993),
        ([Keys.PAGE_DOWN], 0.893),
        ([Keys.PAGE_DOWN] * 3 + [Keys.ARROW_UP], 0.594),
        ([Keys.HOME], 0.0),
        ([Keys.ARROW_RIGHT], 0.001),
    ]
    for pressed, demand in keys:
        slider.send_keys(*pressed)
        assert float(slider.get_attribute("value")) == pytest.approx(100 * demand)
        assert browser.find_element(By.ID, "demand-box").get_attribute("value") == (
            f"{100 * demand:.1f}"
        )
        assert_shows(browser, expected(model.with_rate(tpr=demand, exceed=False), *new_data))
    state = browser.find_element(By.ID, "state").text
    assert state.startswith("At a target rate of 0.1")
    browser.find_element(By.ID, "to-present").send_keys(Keys.ENTER)
    assert_shows(browser, expected(model, *new_data))


def test_a_typed_demand_and_other_costs(window, pages, ensemble, new_data):
    browser = window(pages["votes"])
    box = browser.find_element(By.ID, "demand-box")
    box.clear()
    box.send_keys("87.65")  # between two steps: the upper one meets it
    moved = ensemble.with_rate(tpr=0.877, exceed=False)
    assert_shows(browser, expected(moved, *new_data))
    miss = browser.find_element(By.ID, "cost-fn")
    miss.clear()
    miss.send_keys("40")
    assert_shows(browser, expected(moved, *new_data, costs={"fn": 40.0, "fp": 1.0}))
    box.clear()
    box.send_keys("140")
    assert box.get_attribute("aria-invalid") == "true"


def test_the_cheapest_demand_is_the_cheapest(window, pages, calibrated, new_data):
    browser = window(pages["calibrated"])
    browser.find_element(By.ID, "to-cheapest").send_keys(Keys.SPACE)
    X, y = new_data
    proba = calibrated.predict_proba(X)[:, 1]
    thresholds = [
        calibrated.with_rate(tpr=k / 1000, exceed=False).proba_threshold_ for k in range(1001)
    ]
    calls = (np.where(proba >= threshold, "yes", "no") for threshold in thresholds)
    costs = [mean_cost(y, call, fn_cost=5, fp_cost=1, pos_label="yes") for call in calls]
    assert live(browser)["cost"] == pytest.approx(1000 * min(costs))


def test_the_threshold_moves_in_the_picture(window, pages):
    browser = window(pages["calibrated"])
    slider = browser.find_element(By.ID, "demand")

    def place():
        return float(browser.find_element(By.ID, "threshold-line").get_attribute("x1"))

    slider.send_keys(Keys.HOME)
    calls_nobody = place()
    slider.send_keys(Keys.END)
    assert place() < calls_nobody == 430


def test_nothing_is_fetched(window, pages):
    browser = window(pages["votes"])
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    ]
    assert asked
    assert all(url.startswith(("file:", "data:")) for url in asked)


def test_tab_reaches_all_controls(window, pages):
    browser = window(pages["votes"])
    controls = ["demand", "demand-box", "cost-fn", "cost-fp", "to-present", "to-cheapest"]
    reached = []
    while "to-cheapest" not in reached and len(reached) < 40:
        browser.switch_to.active_element.send_keys(Keys.TAB)
        reached.append(browser.switch_to.active_element.get_attribute("id"))
    assert [name for name in reached if name in controls] == controls


def test_every_control_and_table_has_a_name(window, pages):
    browser = window(pages["votes"])
    for control in browser.find_elements(By.CSS_SELECTOR, "input, button, [role=img], section"):
        assert control.accessible_name, control.get_attribute("outerHTML")
    n_tables = len(browser.find_elements(By.TAG_NAME, "table"))
    assert len(browser.find_elements(By.CSS_SELECTOR, "table > caption")) == n_tables


@pytest.mark.parametrize("width", [320, 390, 768])
def test_no_window_is_too_narrow(window, tmp_path, data, new_data, width):
    pd = pytest.importorskip("pandas")
    columns = ["a_very_long_name_of_a_column_that_nobody_would_" + "x" * 40, "b"]
    train, new = (pd.DataFrame(part[0], columns=columns) for part in (data, new_data))
    model = BootstrapSVC([1.0], n_bootstraps=30, random_state=0).fit(train, data[1])
    page = write_report(model, new, new_data[1], tmp_path / "long.html")
    browser = window(page.resolve().as_uri(), width=width)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_hostile_names_are_shown_and_not_run(window, tmp_path, data, new_data):
    hostile = "</script><script>document.title='run'</script><img src=x onerror=\"alert(1)\">"
    model = BootstrapSVC([1.0], n_bootstraps=30, pos_label=hostile, random_state=0)
    model.fit(data[0], np.where(data[1] == "yes", hostile, "no"))
    y = np.where(new_data[1] == "yes", hostile, "no")
    page = write_report(model, new_data[0], y, tmp_path / "hostile.html", title=hostile)
    browser = window(page.resolve().as_uri())
    browser.find_element(By.ID, "demand").send_keys(Keys.PAGE_DOWN)
    assert hostile in browser.find_element(By.ID, "state").text
    assert browser.title == hostile
    assert not browser.find_elements(By.TAG_NAME, "img")


def luminance(color):
    parts = np.array([float(part) for part in color.strip("rgba()").split(",")[:3]]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(window, pages, scheme):
    browser = window(pages["votes"], scheme=scheme)
    ground = luminance(
        browser.find_element(By.TAG_NAME, "section").value_of_css_property("background-color")
    )
    assert (ground < 0.1) == (scheme == "dark")
    for selector in ("section p", "section .pos", "section .neg", "caption", "section a, summary"):
        color = browser.find_element(By.CSS_SELECTOR, selector).value_of_css_property("color")
        low, high = sorted([ground, luminance(color)])
        assert (high + 0.05) / (low + 0.05) >= 4.5, selector


def test_without_scripts_the_present_threshold_is_told(window, pages, ensemble, new_data):
    browser = window(pages["votes"], scripts=False)
    assert not browser.find_element(By.ID, "demand").is_displayed()
    assert browser.find_element(By.CSS_SELECTOR, "noscript p").size["height"] > 0
    assert_shows(browser, expected(ensemble, *new_data))
    without = {k: v for k, v in live(browser).items() if k.endswith("_text")}
    browser = window(pages["votes"])
    assert without == {k: v for k, v in live(browser).items() if k.endswith("_text")}


def test_on_paper(window, pages):
    browser = window(pages["votes"], media="print", scheme="dark", width=794)
    assert not browser.find_element(By.ID, "demand").is_displayed()
    assert live(browser)["tp_text"]
    ground = browser.find_element(By.TAG_NAME, "body").value_of_css_property("background-color")
    assert luminance(ground) == pytest.approx(1)
    pdf = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", {})["data"])
    assert pdf.startswith(b"%PDF")
