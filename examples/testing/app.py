"""An app with one page, for people whom the guard `reports` admits. Start: python app.py DOORWARD_URL"""

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.error import HTTPError
from urllib.request import Request, urlopen


def app(doorward_url, port=0):
    """The app on a port of loopback; 0 is a free one."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            token = self.headers.get("Authorization", "")
            try:
                with urlopen(Request(f"{doorward_url}/api/auth/reports", headers={"Authorization": token})) as admitted:
                    status, text = 200, f"Reports for {admitted.headers['X-Auth-User-Name']}"
            except HTTPError as refusal:
                status, text = refusal.code, "You may not read reports."
            self.send_response(status)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_):
            pass

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


if __name__ == "__main__":
    app(sys.argv[1], 8080).serve_forever()
