"""ROS 2 topics over DDS with cyclonedds: no ROS installation on either side is needed to talk to one.

Readers ask for best effort and so hear every publisher; writers offer reliable delivery and so are heard by
every subscriber. Two exceptions: one lost packet loses a whole image, so depth images are asked for reliably
(what the RealSense driver of ROS offers) unless told otherwise; and so are operators' requests, every one of
which is kept until it is read, since it may be the one that stops a robot.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from cyclonedds.core import (
    DDSException,
    InstanceState,
    Policy,
    Qos,
    ReadCondition,
    SampleState,
    ViewState,
    WaitSet,
)
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration

from ssr.deployment.config import DdsConfig
from ssr.deployment.loopback import LOOPBACK, confine, open_sockets
from ssr.deployment.messages import Broken, Message
from ssr.errors import UserError

M = TypeVar("M", bound=Message)
AT_ONCE, IN_A_ROW = 32, 16  #: messages taken in one go, and how often before others have their turn
EVERY = 0  #: depth of a reader or writer that keeps all messages until they are read


class Reader(Generic[M]):
    """The newest messages of a topic. `broken` counts those that could not be read.

    A reader that pins hears one participant alone: the first that speaks, until it has left the network, and
    while it is `settled`, nobody else even then. What others say is counted and kept in `strangers` until the
    next call of `take`.
    """

    def __init__(self, network: Network, reader: DataReader[M], pins: bool) -> None:
        self._network = network  # lives as long as whoever listens
        self._reader, self._pins = reader, pins
        self.settled = False  #: who is heard does not change, and nobody is if nobody was
        self.broken = self.refused = 0
        self.strangers: list[M] = []
        self.author: object = None  #: the participant that is heard, once one is pinned
        self._authors: dict[int, object] = {}  #: participants by the handle of their publication
        self._wait = WaitSet(network.participant)
        unread = ViewState.Any | InstanceState.Any | SampleState.NotRead
        self._unread = ReadCondition(reader, unread)
        self._wait.attach(self._unread)

    def take(self) -> list[M]:
        """What has arrived since the last call, oldest first."""
        samples = self._samples()
        good = [s for s in samples if isinstance(s, Message)]
        self.broken += sum(isinstance(s, Broken) for s in samples)
        if not self._pins:
            return good
        mine = [self._is_authors(message) for message in good]
        self.strangers = [message for message, own in zip(good, mine, strict=True) if not own]
        self.refused += len(self.strangers)
        return [message for message, own in zip(good, mine, strict=True) if own]

    def _samples(self) -> list[M]:
        found: list[M] = []
        try:
            for _ in range(IN_A_ROW):  # whoever floods a topic must not hold up who listens
                found += (some := self._reader.take(N=AT_ONCE))
                if len(some) < AT_ONCE:
                    break
        except DDSException:
            self.broken += 1
        return found

    def pin(self, author: object) -> None:
        """Hear this participant from now on, if it speaks here at all; or the only one there is."""
        present = self._present()
        if author is not None and author in present:
            self.author = author
        elif self.author not in present:
            self.author = present.pop() if len(present) == 1 else None

    def _is_authors(self, message: M) -> bool:
        spoke = self._participant(message.sample_info.publication_handle)  # type: ignore[attr-defined]
        free = self.author is None or (self.author != spoke and self.author not in self._present())
        if free and not self.settled:
            self.author = spoke
        return self.author == spoke

    def _present(self) -> set[object]:
        return {self._participant(handle) for handle in self._reader.get_matched_publications()}

    def _participant(self, handle: int) -> object:
        if handle not in self._authors:
            about = self._reader.get_matched_publication_data(handle)
            self._authors[handle] = about.participant_key if about is not None else handle
        return self._authors[handle]

    def wait(self, seconds: float) -> bool:
        """Sleep until something has arrived, or for `seconds`."""
        return bool(self._wait.wait(duration(seconds=seconds)))

    @property
    def publishers(self) -> int:
        return len(self._reader.get_matched_publications())

    @property
    def refused_publishers(self) -> int:
        """Publishers of this topic that offer less than is asked for, and so cannot be heard."""
        return int(self._reader.get_requested_incompatible_qos_status().total_count)


class Writer(Generic[M]):
    def __init__(self, network: Network, writer: DataWriter[M]) -> None:
        self._network = network  # lives as long as whoever speaks
        self._writer = writer
        self.failed = 0  #: messages the network did not take

    def write(self, message: M) -> None:
        try:
            self._writer.write(message)
        except DDSException:
            self.failed += 1

    @property
    def subscribers(self) -> int:
        return len(self._writer.get_matched_subscriptions())


class Network:
    """One participant in a DDS domain."""

    def __init__(self, config: DdsConfig | None = None) -> None:
        config = config or DdsConfig()
        self.exposed = ""  #: how other hosts can reach it although it should be of this one alone
        before = open_sockets() if config.interface == LOOPBACK else None
        try:
            _open_domain(config)
            self.participant = DomainParticipant(config.domain)
            if before is not None:
                self.exposed = confine(before)
        except DDSException as error:
            where = f"on interface {config.interface!r}" if config.interface else "with CYCLONEDDS_URI"
            raise UserError(
                f"DDS domain {config.domain} {where} cannot be opened ({error.msg.strip() or error.code}). "
                "Give another --network.interface or --network.domain."
            ) from None

    def reader(
        self, name: str, kind: type[M], *, depth: int = 8, reliable: bool = False, pins: bool = False
    ) -> Reader[M]:
        """depth: messages kept, or EVERY; pins: it hears one participant alone."""
        reader = DataReader(self.participant, self._topic(name, kind), _qos(depth, reliable))
        return Reader(self, reader, pins)

    def writer(self, name: str, kind: type[M], *, depth: int = 1) -> Writer[M]:
        return Writer(self, DataWriter(self.participant, self._topic(name, kind), _qos(depth, True)))

    def _topic(self, name: str, kind: type[M]) -> Topic[M]:
        return Topic(self.participant, f"rt/{name}", kind)


_domains: dict[int, tuple[DdsConfig, Domain]] = {}  #: open ones, until the process ends


def _open_domain(config: DdsConfig) -> None:
    """A process joins a domain with one set of settings, whatever joins it later."""
    if not config.interface:
        return
    if config.domain not in _domains:
        _domains[config.domain] = (config, Domain(config.domain, _xml(config)))
    elif _domains[config.domain][0] != config:
        raise ValueError(f"domain {config.domain} is already open with other settings")


def _qos(depth: int, reliable: bool) -> Qos:
    return Qos(
        Policy.Reliability.Reliable(duration(milliseconds=1)) if reliable else Policy.Reliability.BestEffort,
        Policy.History.KeepAll if depth == EVERY else Policy.History.KeepLast(depth),
        Policy.Durability.Volatile,
    )


def _xml(config: DdsConfig) -> str:
    """cyclonedds' settings. Loopback has no multicast, so peers are looked for by address there."""
    general = f'<Interfaces><NetworkInterface name="{config.interface}"/></Interfaces>'
    # Presence is announced once a second: a lost announcement must not cost half a minute.
    discovery = "<SPDPInterval>1s</SPDPInterval>"
    if config.interface == LOOPBACK:
        general += (
            "<AllowMulticast>false</AllowMulticast>"
            "<MaxMessageSize>65500B</MaxMessageSize><FragmentSize>64000B</FragmentSize>"
        )
        discovery += (
            "<ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>32</MaxAutoParticipantIndex>"
            '<Peers><Peer address="localhost"/></Peers>'
        )
    loss = ""
    if config.lossiness:
        permille = round(1000 * config.lossiness)
        loss = f"<Internal><Test><XmitLossiness>{permille}</XmitLossiness></Test></Internal>"
    return (
        f'<CycloneDDS><Domain Id="{config.domain}"><General>{general}</General>'
        f"<Discovery>{discovery}</Discovery>{loss}<Tracing><Verbosity>none</Verbosity></Tracing>"
        "</Domain></CycloneDDS>"
    )
