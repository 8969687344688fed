"""Sets receive buffers so that hosts advertise the receive window of the scenario, where it has a size.

Linux advertises a share of its receive buffer. It learns that share from the first packets: their data over the memory
they take. So one connection through the household measures the share before the run, and buffers are set by it.
"""

from __future__ import annotations

import socket
import threading

from gamelane.errors import LabError
from gamelane.lab.inside import inside
from gamelane.lab.namespaces import Host
from gamelane.lab.plan import DATAGRAMS, Flow
from gamelane.lab.topology import Household, server_address

PORT = 9
ENOUGH = 24 * 1460
PATIENCE_S = 20.0
_known: dict[int, float] = {}
"""Measured share by MTU. It depends on the kernel only, so all runs use it."""


def set_windows(home: Household) -> None:
    """Set the receive buffers of all hosts that receive TCP data with a window of a given size."""
    flows = [flow for flow in home.plan.flows if flow.app not in DATAGRAMS and flow.tcp.window is not None]
    if not flows:
        return
    mtu = home.plan.mtu
    if mtu not in _known:
        _known[mtu] = _share(home, flows[0])
    for flow in flows:
        receiver = home.servers[flow.name] if flow.up else home.host_of(flow)
        room = round((flow.tcp.window or 0) / _known[mtu])
        receiver.run("sysctl", "-qw", "net.ipv4.tcp_moderate_rcvbuf=0", f"net.ipv4.tcp_rmem=4096 {room} {room}")


def _share(home: Household, flow: Flow) -> float:
    """Return window over buffer of a server that has received some packets.

    Neither end sends anything after it, so nothing of it is in the captures of the run.
    """
    address = server_address(flow)
    with inside(home.servers[flow.name]):
        listener = socket.create_server((address, PORT))
    listener.settimeout(PATIENCE_S)
    sender = threading.Thread(target=_send, args=(home.host_of(flow), address), daemon=True)
    sender.start()
    with listener:
        try:
            accepted, _ = listener.accept()
            with accepted:
                accepted.settimeout(PATIENCE_S)
                while accepted.recv(1 << 16):
                    pass
                window = accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_WINDOW_CLAMP)
                buffer = accepted.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
        except TimeoutError:
            raise LabError(f"no TCP data arrived through the household in {PATIENCE_S:g} s") from None
    sender.join()
    return window / buffer


def _send(host: Host, address: str) -> None:
    with inside(host), socket.create_connection((address, PORT), timeout=PATIENCE_S) as link:
        link.sendall(bytes(ENOUGH))
        link.shutdown(socket.SHUT_WR)
        while link.recv(1):
            pass
