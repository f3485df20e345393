"""How many requests of each corpus were sent through each proxy, and how many of them did what no request may do."""

ROWS = []


class Count:
    """The tries of one corpus through one proxy, and the faults of those that got past it."""

    def __init__(self, corpus, proxy):
        self.corpus, self.proxy, self.tries, self.faults = corpus, proxy, 0, []
        ROWS.append(self)

    def add(self, attempt, faults):
        self.tries += 1
        if faults:
            self.faults.append((attempt, faults))

    def check(self):
        shown = "\n".join(f"{faults}: {attempt}" for attempt, faults in self.faults[:20])
        assert not self.faults, f"{len(self.faults)} of {self.tries} tries got past {self.proxy}:\n{shown}"


def lines():
    return [f"{row.tries:6} tries {len(row.faults):6} got past  {row.proxy:20} {row.corpus}" for row in ROWS]
