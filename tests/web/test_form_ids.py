"""Forms that may be sent once."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from ricordo.web.form_ids import OneTimeForms

pytestmark = pytest.mark.requirement("page.keys")


def test_an_id_can_be_used_once_however_many_try() -> None:
    forms = OneTimeForms()
    one, other = forms.new_id(), forms.new_id()
    assert one != other
    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(forms.take, [one] * 50))
    assert taken.count(True) == 1
    assert forms.take(other)
    assert not forms.take(None)
    assert not forms.take("")
    assert not forms.take("x" * 1_000)


def test_ids_of_long_ago_are_forgotten() -> None:
    forms = OneTimeForms()
    first = forms.new_id()
    assert forms.take(first)
    for _ in range(1_000):
        assert forms.take(forms.new_id())
    assert forms.take(first)
