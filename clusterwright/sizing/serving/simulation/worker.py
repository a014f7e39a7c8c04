"""One worker, event by event: arrivals, admission, chunked prefill, decode steps, preemption.

The rules are those of engines with continuous batching (Orca, OSDI 2022; chunked prefill: Sarathi-Serve, OSDI 2024;
paged memory and recomputation after preemption: vLLM, SOSP 2023). At the start of each step, waiting requests are
admitted in the order of their arrival, while a place, memory and the step's budget of input tokens are left. A step
advances every decoding sequence by one token and carries pieces of inputs; the step that carries the last piece gives
the first token. Where memory does not hold one more token of each, the newest sequence gives its memory back; its input
and what it has written are computed again later.

Steps between two events that change nothing but contexts are taken at once, as a sum of their times.
"""

import heapq
import math
from collections import deque

from clusterwright.errors import InputError
from clusterwright.sizing.serving.arrivals.requests import Requests
from clusterwright.sizing.serving.simulation.step_table import StepTable

#: Of a difference of step times, below which they count as equal.
_NO_SLOPE = 1e-15


class Journey:
    """What happened to requests, by index: when each was admitted, gave its first and last token, how often preempted.

    Seconds from the start; infinite for what has not happened.
    """

    __slots__ = ("admitted_s", "arrival_s", "cached", "finished_s", "first_s", "inputs", "outputs", "preempted")

    def __init__(self, requests: Requests) -> None:
        count = len(requests)
        self.arrival_s: list[float] = requests.arrival_s.tolist()
        self.inputs: list[int] = requests.input_tokens.astype(int).tolist()
        self.outputs: list[int] = requests.output_tokens.astype(int).tolist()
        self.cached: list[int] = requests.cached_tokens.astype(int).tolist()
        self.admitted_s = [math.inf] * count
        self.first_s = [math.inf] * count
        self.finished_s = [math.inf] * count
        self.preempted = [0] * count


class Worker:
    """A worker and its requests in the system.

    Attributes:
        now_s: end of the last step.
        inside: requests that wait, are prefilled or decode; routers look at it.
    """

    __slots__ = (
        "_at",
        "_base",
        "_ends",
        "_heap",
        "_incoming",
        "_journey",
        "_order",
        "_partial",
        "_prefilled",
        "_progress",
        "_running",
        "_step",
        "_table",
        "_used",
        "_waiting",
        "_written",
        "inside",
        "now_s",
    )

    def __init__(self, table: StepTable, journey: Journey, *, prefilled: bool = False) -> None:
        """Take the table of step times, the requests by index, and whether they come with their inputs computed."""
        self._table, self._journey, self._prefilled = table, journey, prefilled
        self.now_s, self.inside = 0.0, 0
        self._incoming: list[int] = []
        self._at = 0
        self._waiting: deque[int] = deque()
        self._partial = -1
        self._progress = 0
        #: Decoding sequences by the step at which they end; entries of preempted ones stay until they come up.
        self._heap: list[tuple[int, int]] = []
        self._ends: dict[int, tuple[int, int]] = {}
        self._order: list[int] = []
        self._running = 0
        self._step = 0
        #: Sum of the contexts of decoding sequences, less what steps have added since step 0.
        self._base = 0.0
        self._used = 0.0
        self._written: dict[int, int] = {}

    def push(self, index: int) -> None:
        """Take a request; the time of its arrival is not before those of earlier ones.

        Raises:
            InputError: memory does not hold it even alone.
        """
        journey = self._journey
        needed = journey.inputs[index] + journey.outputs[index]
        if needed - journey.cached[index] + self._table.tokens_per_step > self._table.pool_tokens:
            raise InputError(
                f"request {index} has {needed:,} tokens, but memory holds {self._table.pool_tokens:,.0f}",
                help="give the replica more memory, or bound the length of requests",
            )
        self._incoming.append(index)
        self.inside += 1

    @property
    def next_s(self) -> float:
        """When the next step starts, infinite without requests."""
        if self._running or self._waiting or self._partial >= 0:
            return self.now_s
        if self._at < len(self._incoming):
            return max(self.now_s, self._journey.arrival_s[self._incoming[self._at]])
        return math.inf

    def advance(self, until_s: float) -> None:  # noqa: C901, PLR0912, PLR0915 - one loop: calls would double its time
        """Take all steps that start before a time; requests that arrive later may be pushed afterwards."""
        table, journey = self._table, self._journey
        rows, prefill, spacing = table.rows, table.prefill, table.context_tokens
        last = len(rows[0]) - 2
        gain, pool, most, chunk = table.tokens_per_step, table.pool_tokens, table.most_sequences, table.chunk_tokens
        carrying = table.carrying_s
        arrival, inputs, cached = journey.arrival_s, journey.inputs, journey.cached
        waiting, heap, ends, order, incoming = self._waiting, self._heap, self._ends, self._order, self._incoming
        now, at, running, step = self.now_s, self._at, self._running, self._step
        base, used, partial, progress = self._base, self._used, self._partial, self._progress
        written = self._written
        coming = len(incoming)
        while now < until_s:
            while at < coming and arrival[incoming[at]] <= now:
                waiting.append(incoming[at])
                at += 1
            if not running and partial < 0 and not waiting:
                if at == coming or arrival[incoming[at]] >= until_s:
                    break
                now = arrival[incoming[at]]
                continue
            preempted = False
            while running and used + running * gain > pool:
                preempted = True
                if partial >= 0:
                    victim, partial = partial, -1
                    used -= inputs[victim] + written.get(victim, 0) - cached[victim]
                else:
                    victim = order.pop()
                    while victim not in ends:
                        victim = order.pop()
                    end, began = ends.pop(victim)
                    grown = gain * (step - began)
                    context = inputs[victim] + written[victim]
                    written[victim] += min(round(grown), journey.outputs[victim] - written[victim] - 1)
                    base -= context - gain * began
                    used -= context + grown - cached[victim]
                    running -= 1
                journey.preempted[victim] += 1
                waiting.appendleft(victim)
            # Pieces of inputs for this step: the one that is begun, then those that wait.
            budget = chunk - running
            budget = max(budget, 1)
            added = 0.0
            complete: list[int] = []
            if partial >= 0:
                left = inputs[partial] + written.get(partial, 0) - progress
                piece = left if left < budget else budget
                added += prefill[progress + piece] - prefill[progress]
                budget -= piece
                progress += piece
                if piece == left:
                    complete.append(partial)
                    partial = -1
            while budget > 0 and partial < 0 and waiting and not preempted and running + len(complete) < most:
                index = waiting[0]
                target = inputs[index] + written.get(index, 0)
                held = target - cached[index]
                if used + held + (running + len(complete) + 1) * gain > pool:
                    break
                waiting.popleft()
                used += held
                if journey.admitted_s[index] == math.inf:
                    journey.admitted_s[index] = now
                if self._prefilled and index not in written:
                    complete.append(index)
                    continue
                start = cached[index]
                piece = held if held < budget else budget
                added += prefill[start + piece] - prefill[start]
                budget -= piece
                if piece == held:
                    complete.append(index)
                else:
                    partial, progress = index, start + piece
            if complete and self._prefilled and not added:
                # Sequences that come with their inputs computed join between two steps.
                pass
            elif complete or partial >= 0:
                if running:
                    row = rows[running]
                    place = (base / running + gain * step) / spacing
                    low = int(place)
                    low = min(low, last)
                    added += row[low] + (row[low + 1] - row[low]) * (place - low)
                    step += 1
                    used += running * gain
                now += added if running or added > carrying else carrying
            else:
                # Nothing to prefill: all steps up to the next event at once.
                count = heap[0][0] - step
                while count < 0 or heap[0][1] not in ends or ends[heap[0][1]][0] != heap[0][0]:
                    heapq.heappop(heap)
                    count = heap[0][0] - step
                fitting = int((pool - used) / (gain * running))
                if fitting < count:
                    count = fitting if fitting > 1 else 1
                row = rows[running]
                place = (base / running + gain * step) / spacing
                low = int(place)
                low = min(low, last)
                first = row[low] + (row[low + 1] - row[low]) * (place - low)
                if count > 1:
                    place += gain * (count - 1) / spacing
                    low = int(place)
                    low = min(low, last)
                    final = row[low] + (row[low + 1] - row[low]) * (place - low)
                    total = count * (first + final) / 2
                    limit = until_s
                    # Who waits for a place waits whatever else arrives.
                    if not waiting and at < coming and arrival[incoming[at]] < limit:
                        limit = arrival[incoming[at]]
                    if now + total > limit:
                        slope = (final - first) / (count - 1)
                        gap = limit - now
                        if -_NO_SLOPE < slope < _NO_SLOPE:
                            wanted = gap / first
                        else:
                            linear = first - slope / 2
                            wanted = 2 * gap / (linear + math.sqrt(max(linear * linear + 2 * slope * gap, 0.0)))
                        sooner = math.ceil(wanted)
                        if sooner < count:
                            count = sooner if sooner > 1 else 1
                            total = count * first + slope * count * (count - 1) / 2
                    now += total
                else:
                    now += first
                step += count
                used += running * gain * count
            while heap and heap[0][0] <= step:
                end, index = heapq.heappop(heap)
                about = ends.get(index)
                if about is None or about[0] != end:
                    continue
                del ends[index]
                began = about[1]
                context = inputs[index] + written.pop(index)
                base -= context - gain * began
                used -= context + gain * (step - began) - cached[index]
                running -= 1
                self.inside -= 1
                journey.finished_s[index] = now
            for index in complete:
                fresh = index not in written
                done = written.get(index, 0) + 1
                if fresh:
                    journey.first_s[index] = now
                left = journey.outputs[index] - done
                if left <= 0:
                    used -= inputs[index] + done - 1 - cached[index]
                    written.pop(index, None)
                    self.inside -= 1
                    journey.finished_s[index] = now
                    continue
                written[index] = done
                used += 1
                base += inputs[index] + done - gain * step
                end = step + math.ceil(left / gain - 1e-9)
                ends[index] = (end, step)
                order.append(index)
                heapq.heappush(heap, (end, index))
                running += 1
            if not running:
                base = 0.0
                if partial < 0:
                    used = 0.0
                    order.clear()
        self.now_s, self._at, self._running, self._step = now, at, running, step
        self._base, self._used, self._partial, self._progress = base, used, partial, progress
