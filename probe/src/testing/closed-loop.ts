import { randomBytes } from "node:crypto";
import { Distribution } from "@isochrone/telemetry";
import { parseAddress } from "../domain/ip.ts";
import { Keyring } from "../domain/keyring.ts";
import type { EngineConfig, FlowSnapshot, ProbePeer } from "../ports/ports.ts";
import type { EngineContext } from "../engine/context.ts";
import { createLoop } from "../engine/create-loop.ts";
import { TcpFlow } from "../engine/tcp-flow.ts";
import { UdpFlow } from "../engine/udp-flow.ts";

/** A stuck loop is pushed on so often: a lost packet ends no run. Milliseconds. */
const PUSH_MS = 50;

export interface ClosedLoopOptions {
  readonly config: EngineConfig;
  readonly peer: ProbePeer;
  readonly method: "udp_rr" | "tcp_rr";
  /**
   * How long transactions follow each other, and for how long before that what they do isn't counted;
   * milliseconds.
   */
  readonly durationMs: number;
  readonly warmupMs: number;
}

/**
 * Request/response as netperf does it: the next request as soon as the answer to the one before is there, by
 * the same flows that measure peers. It has the calling thread for itself meanwhile: for benchmarks and
 * diagnosis, in a thread of their own.
 * @throws RangeError for an identity that is no address
 */
export async function runClosedLoop(options: ClosedLoopOptions): Promise<FlowSnapshot> {
  const { config, peer, method, durationMs, warmupMs } = options;
  const monotonic = (): number => performance.now();
  const ended = Promise.withResolvers<void>();
  const { loop } = await createLoop({ monotonic, onError: (error) => ended.reject(error) });
  const identity = parseAddress(config.identity);
  if (identity === null) throw new RangeError(`identity must be an IP address, got ${config.identity}`);
  const context: EngineContext = {
    config,
    identity,
    keys: new Keyring(config.keys, config.signingKeyId),
    sockets: loop.sockets,
    timetable: loop.timetable,
    stalls: loop.watch(config.stallBoundMs),
    lateness: { current: new Distribution() },
    pace: { factor: 1 },
    monotonic,
    random: () => Math.random(),
    nonce: () => randomBytes(8).readBigUInt64BE(),
    afterPoll: (run) => loop.afterPoll(run),
  };
  let flow: UdpFlow | TcpFlow | null = null;
  let sentMs = Number.NEGATIVE_INFINITY;
  const next = (): void => {
    sentMs = monotonic();
    flow?.prepare();
    flow?.send();
  };
  flow = method === "udp_rr" ? new UdpFlow(context, peer, next) : new TcpFlow(context, peer, next);
  const push = (): void => {
    const nowMs = monotonic();
    if ((flow?.isOpen ?? false) && nowMs - sentMs >= PUSH_MS) next();
    loop.timetable.at(nowMs + PUSH_MS, push);
  };
  loop.start();
  flow.open();
  push();
  const startMs = monotonic() + warmupMs;
  loop.timetable.at(startMs, () => void flow?.drain());
  loop.timetable.at(startMs + durationMs, () => ended.resolve());
  try {
    await ended.promise;
    return flow.drain();
  } finally {
    flow.stop();
    loop.close();
  }
}
