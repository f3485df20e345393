"""A client that sends HTTP/2 frames by itself, to do what HTTP libraries avoid."""

import contextlib
import ssl

import h2.connection
import h2.errors
import h2.events
import h2.settings
import hpack
from hyperframe.frame import DataFrame, Frame, GoAwayFrame, HeadersFrame, PingFrame, SettingsFrame
from tls_service import PATIENCE_SECONDS


def receive(encrypted):
    """What arrives next: nothing if the server has closed the connection."""
    try:
        return encrypted.recv(65536)
    except (ConnectionResetError, ssl.SSLError):
        return b""
    except TimeoutError:
        raise AssertionError(f"the server sent nothing for {PATIENCE_SECONDS} seconds and did not close") from None


class Http2Client:
    """One connection. `read` handles what arrives until a condition holds or the server closes."""

    def __init__(self, encrypted, settings=None):
        self._socket = encrypted
        self._socket.settimeout(PATIENCE_SECONDS)
        assert encrypted.selected_alpn_protocol() == "h2"
        self.http = h2.connection.H2Connection()
        self.http.initiate_connection()
        if settings:
            self.http.update_settings(settings)
        self.reads_bodies = True
        self.statuses, self.headers, self.bodies, self.ended, self.resets = {}, {}, {}, set(), {}
        self.goaway = None
        self.is_closed = False
        self.flush()

    def flush(self):
        self._socket.sendall(self.http.data_to_send())

    def prepare(self, path, method="GET", body=None, headers=(), authority="localhost", ends=True):
        """A request that the next `flush` sends."""
        stream = self.http.get_next_available_stream_id()
        fields = [(":method", method), (":scheme", "https"), (":path", path)]
        fields += [(":authority", authority)] if authority else []
        self.http.send_headers(stream, [*fields, *headers], end_stream=body is None and ends)
        if body is not None:
            self.http.send_data(stream, body, end_stream=ends)
        return stream

    def request(self, path, **options):
        stream = self.prepare(path, **options)
        self.flush()
        return stream

    def read(self, until):
        while not until() and not self.is_closed:
            received = receive(self._socket)
            if not received:
                self.is_closed = True
                return
            for event in self.http.receive_data(received):
                self._handle(event)
            # The server may have closed the connection after what it has sent.
            with contextlib.suppress(OSError):
                self.flush()

    def _handle(self, event):
        match event:
            case h2.events.ResponseReceived():
                fields = {name.decode(): value.decode() for name, value in event.headers}
                self.statuses[event.stream_id] = int(fields[":status"])
                self.headers[event.stream_id] = fields
            case h2.events.DataReceived():
                self.bodies[event.stream_id] = self.bodies.get(event.stream_id, b"") + event.data
                if self.reads_bodies:
                    self.http.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            case h2.events.StreamEnded():
                self.ended.add(event.stream_id)
            case h2.events.StreamReset():
                self.resets[event.stream_id] = event.error_code
            case h2.events.ConnectionTerminated():
                self.goaway = event

    def answer(self, stream):
        """The status and body of a stream; the status is None if there was none."""
        self.read(lambda: stream in self.ended or stream in self.resets)
        return self.statuses.get(stream), self.bodies.get(stream, b"")

    def get(self, path, **options):
        return self.answer(self.request(path, **options))


class FrameClient:
    """One connection of single frames. The library gives a connection up when the server announces its end."""

    PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

    def __init__(self, encrypted):
        self._socket = encrypted
        self._socket.settimeout(PATIENCE_SECONDS)
        self._encoder, self._decoder, self._received = hpack.Encoder(), hpack.Decoder(), b""
        self.statuses, self.bodies, self.ended, self.goaways, self.is_closed = {}, {}, set(), [], False
        self._socket.sendall(self.PREFACE + SettingsFrame(0).serialize())

    def send(self, *frames):
        self._socket.sendall(b"".join(frame.serialize() for frame in frames))

    def request(self, stream, method, path, body=None):
        """The beginning of a request with a body, or a whole one without."""
        fields = [(":method", method), (":scheme", "https"), (":path", path), (":authority", "localhost")]
        fields += [("content-type", "application/json")] if body else []
        flags = ["END_HEADERS"] if body else ["END_HEADERS", "END_STREAM"]
        self.send(HeadersFrame(stream, self._encoder.encode(fields), flags=flags))
        if body:
            self.send(DataFrame(stream, body))

    def read(self, until):
        while not until() and not self.is_closed:
            received = receive(self._socket)
            self.is_closed = not received
            self._received += received
            while len(self._received) >= 9:
                frame, length = Frame.parse_frame_header(memoryview(self._received[:9]))
                if len(self._received) < 9 + length:
                    break
                frame.parse_body(memoryview(self._received[9 : 9 + length]))
                self._received = self._received[9 + length :]
                self._handle(frame)

    def _handle(self, frame):
        if isinstance(frame, HeadersFrame):
            self.statuses[frame.stream_id] = dict(self._decoder.decode(frame.data))[":status"]
        if isinstance(frame, DataFrame):
            self.bodies[frame.stream_id] = self.bodies.get(frame.stream_id, b"") + frame.data
        if isinstance(frame, GoAwayFrame):
            self.goaways.append(frame)
        if isinstance(frame, PingFrame | SettingsFrame) and "ACK" not in frame.flags:
            content = {"opaque_data": frame.opaque_data} if isinstance(frame, PingFrame) else {}
            self.send(type(frame)(0, flags=["ACK"], **content))
        if "END_STREAM" in frame.flags:
            self.ended.add(frame.stream_id)
