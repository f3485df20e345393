"""Asks a guard on a new connection each time until a line arrives on standard input, and prints how often which answer came."""

import collections
import http.client
import json
import sys
import threading

TOKEN = sys.argv[1]


def answer():
    connection = http.client.HTTPConnection("127.0.0.1", 3000, timeout=60)
    try:
        connection.request("GET", "/api/auth/guard", headers={"Authorization": f"Bearer {TOKEN}"})
        return str(connection.getresponse().status)
    except OSError as error:
        return f"{type(error).__name__}: {error}"
    finally:
        connection.close()


stop = threading.Event()
threading.Thread(target=lambda: (sys.stdin.readline(), stop.set()), daemon=True).start()
answers = collections.Counter([answer()])
print("started", flush=True)
while not stop.wait(0.005):
    answers[answer()] += 1
print(json.dumps(answers))
