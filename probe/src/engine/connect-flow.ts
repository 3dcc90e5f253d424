import { familyOf, parseAddress } from "../domain/ip.ts";
import { Samples } from "../domain/samples.ts";
import { Tally } from "../domain/tally.ts";
import type { FlowSnapshot, ProbePeer } from "../ports/ports.ts";
import type { EngineContext, Flow } from "./context.ts";
import { SendSchedule, type ScheduledSender } from "./send-schedule.ts";
import type { StreamSocket } from "./sockets/port.ts";
import type { Appointment } from "./timetable.ts";

interface Attempt {
  readonly socket: StreamSocket;
  readonly plannedMs: number;
  readonly deadline: Appointment;
}

/**
 * TCP connect time of one peer: opens a connection each interval and resets it once open. A regular close
 * would leave the connection in TIME_WAIT for a minute, which adds up at a busy port. The network time is the
 * kernel's handshake time; the application time runs from the call until the connection is seen open.
 */
export class ConnectFlow implements Flow, ScheduledSender {
  readonly #context: EngineContext;
  readonly #peer: ProbePeer;
  readonly #schedule: SendSchedule;
  readonly #tally = new Tally();
  readonly #samples: Samples;
  #attempt: Attempt | null = null;

  constructor(context: EngineContext, peer: ProbePeer) {
    this.#context = context;
    this.#peer = peer;
    this.#samples = new Samples(this.#tally, context.config.warmupPackets);
    this.#schedule = new SendSchedule(context, this, context.config.connectIntervalMs);
  }

  start(): void {
    this.#schedule.start();
  }

  stop(): void {
    this.#schedule.stop();
    this.#end();
  }

  drain(): FlowSnapshot {
    const address = parseAddress(this.#peer.address);
    const ipFamily = address === null ? 4 : familyOf(address);
    return this.#tally.drain({ node: this.#peer.node, method: "tcp_connect", ipFamily });
  }

  prepare(): void {}

  send(plannedMs: number): void {
    if (this.#attempt !== null) {
      this.#tally.skip("still_waiting");
      return;
    }
    const { address, tcpPort: port } = this.#peer;
    const { bindAddress, dscp, timeoutMs } = this.#context.config;
    this.#tally.count("sent");
    const socket: StreamSocket = this.#context.sockets.openStream(
      { address, port, bindAddress, dscp },
      {
        onOpen: (atMs) => this.#opened(atMs),
        onData: () => {},
        onSent: () => {},
        onClosed: (reason) => this.#failed(reason),
      },
    );
    const deadline = this.#context.timetable.at(socket.startedMs + timeoutMs, () =>
      // A handshake completed in the kernel must not lose to the timer.
      this.#context.afterPoll(() => {
        if (this.#attempt?.socket === socket) this.#failed("timeout");
      }),
    );
    this.#attempt = { socket, plannedMs, deadline };
  }

  missed(ticks: number): void {
    this.#tally.skip("missed_tick", ticks);
  }

  #opened(atMs: number): void {
    const attempt = this.#attempt;
    if (attempt === null) return;
    const { socket, plannedMs } = attempt;
    const kernelMs = socket.handshakeMs();
    this.#tally.count("received");
    this.#samples.record({
      applicationMs: atMs - socket.startedMs,
      plannedMs: atMs - plannedMs,
      kernelMs,
      residenceMs: 0,
      stalled: this.#context.stalls.stalledForMs(atMs) > 0,
    });
    this.#end();
  }

  #failed(reason: string): void {
    if (this.#attempt === null) return;
    this.#tally.countError("lost", reason);
    this.#end();
  }

  #end(): void {
    const attempt = this.#attempt;
    this.#attempt = null;
    attempt?.deadline.cancel();
    attempt?.socket.close();
  }
}
