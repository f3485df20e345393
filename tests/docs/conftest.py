"""Puts the test of the exceptions last: it sees which of them the others have used."""


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.name == "test_exceptions.py")
