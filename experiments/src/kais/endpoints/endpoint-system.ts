// Endpoints as seen by a dispatcher: its own requests, those of other dispatchers, answers with or without
// load. Its knowledge is the product's EndpointLoad. Milliseconds.
import { EndpointLoad, WorkTime, type Candidate } from "@isochrone/dispatch/endpoints";
import type { Draw } from "@isochrone/primitives";
import { EventQueue } from "@isochrone/primitives/algorithms";

export interface EndpointSystem {
  readonly endpoints: readonly EndpointShape[];
  readonly workMs: number;
  /** Load of all dispatchers, relative to total capacity. */
  readonly load: number;
  /** Share of this dispatcher. */
  readonly ownShare: number;
  /** Range of deadlines in multiples of the work, uniform; null: none. */
  readonly deadline: readonly [number, number] | null;
}

interface EndpointShape {
  readonly roundTripMs: number;
  readonly servers: number;
  readonly isFar: boolean;
  /** Load of other dispatchers at this endpoint, relative to an even share. */
  readonly othersFactor: number;
  /** Share of requests that fail at once. */
  readonly failing: number;
  readonly isReporting: boolean;
}

/** Chooses a candidate and learns the outcome: 1 in time, 0 late. */
export interface Chooser {
  choose(
    candidates: readonly Candidate[],
    ask: { readonly leftMs: number | null; readonly workMs: number; readonly nowMs: number },
  ): { readonly at: number; readonly settle: (isInTime: boolean) => void };
}

/** Standard deviation of the log-normal work. */
const SIGMA = 0.5;
/** Without a deadline, requests are late after this multiple of the work. */
const LATE = 3;
/** Duration of a failure. */
const FAILURE_MS = 0.5;
const FIRST_WORK_MS = 10;
/** Window of the endpoint's utilization, in multiples of the work. */
const MEASURED_WORKS = 20;

class SimEndpoint implements Candidate {
  readonly load = new EndpointLoad();
  readonly roundTripMs: number;
  readonly isFar: boolean;
  readonly shape: EndpointShape;
  /** Time at which each server becomes free. */
  readonly freeAt: Float64Array;
  nextOtherMs = 0;
  #utilization = 0;
  #measuredMs = 0;

  constructor(shape: EndpointShape) {
    this.shape = shape;
    this.roundTripMs = shape.roundTripMs;
    this.isFar = shape.isFar;
    this.freeAt = new Float64Array(shape.servers);
  }

  /** First come, first served. @returns time of completion */
  take(atMs: number, workMs: number): number {
    let first = 0;
    for (let at = 1; at < this.freeAt.length; at++) if (this.freeAt[at]! < this.freeAt[first]!) first = at;
    const doneMs = Math.max(atMs, this.freeAt[first]!) + workMs;
    this.freeAt[first] = doneMs;
    return doneMs;
  }

  /** Utilization of the last moments, as an endpoint measures it. */
  report(nowMs: number, workMs: number): void {
    const busy = this.freeAt.filter((freeMs) => freeMs > nowMs).length / this.freeAt.length;
    const weight = 1 - Math.exp(-(nowMs - this.#measuredMs) / (MEASURED_WORKS * workMs));
    this.#utilization += weight * (busy - this.#utilization);
    this.#measuredMs = nowMs;
    const requestsPerSecond = (1_000 * this.freeAt.length * this.#utilization) / workMs;
    this.load.reported({ utilization: this.#utilization, requestsPerSecond, errorsPerSecond: null }, nowMs);
  }
}

/** @returns share of the dispatcher's requests in time */
export function runEndpoints(
  system: EndpointSystem,
  requests: number,
  chooser: Chooser,
  draw: Draw,
): { readonly inTime: number; readonly far: number } {
  const { workMs, load, ownShare, deadline } = system;
  const endpoints = system.endpoints.map((shape) => new SimEndpoint(shape));
  const servers = endpoints.reduce((sum, { freeAt }) => sum + freeAt.length, 0);
  const perMs = (load * servers) / workMs;
  const ownPerMs = perMs * ownShare;
  const factors = endpoints.reduce((sum, { shape }) => sum + shape.othersFactor * shape.servers, 0);
  const work = new WorkTime();
  const answers = new EventQueue();
  const drawnWork = (): number => workMs * Math.exp(SIGMA * normal(draw) - (SIGMA * SIGMA) / 2);
  const othersPerMs = ({ shape }: SimEndpoint): number =>
    ((perMs - ownPerMs) * shape.othersFactor * shape.servers) / factors;
  const advance = (endpoint: SimEndpoint, toMs: number): void => {
    const rate = othersPerMs(endpoint);
    if (rate === 0) return;
    while (endpoint.nextOtherMs < toMs) {
      endpoint.take(endpoint.nextOtherMs, drawnWork());
      endpoint.nextOtherMs += exponential(draw) / rate;
    }
  };
  const fail = (endpoint: SimEndpoint): void => {
    endpoint.load.ended();
    endpoint.load.failed(answers.now);
  };
  const answer = (endpoint: SimEndpoint, sentMs: number, others: number): void => {
    const atMs = answers.now;
    const timeMs = Math.max(0, atMs - sentMs - endpoint.roundTripMs);
    endpoint.load.ended();
    endpoint.load.answered(timeMs, others, atMs);
    work.answered(timeMs, others);
    if (endpoint.shape.isReporting) endpoint.report(atMs, workMs);
  };
  let nowMs = 0;
  let inTime = 0;
  let far = 0;
  for (let request = 0; request < requests; request++) {
    nowMs += exponential(draw) / ownPerMs;
    answers.runUntil(nowMs);
    const leftMs = deadline === null ? null : workMs * (deadline[0] + (deadline[1] - deadline[0]) * draw());
    const { at, settle } = chooser.choose(endpoints, { leftMs, workMs: work.ms ?? FIRST_WORK_MS, nowMs });
    const endpoint = endpoints[at]!;
    const others = endpoint.load.sent();
    const thereMs = nowMs + endpoint.roundTripMs / 2;
    const isFailure = draw() < endpoint.shape.failing;
    advance(endpoint, thereMs);
    const doneMs = isFailure ? thereMs + FAILURE_MS : endpoint.take(thereMs, drawnWork());
    const answerMs = doneMs + endpoint.roundTripMs / 2;
    const sentMs = nowMs;
    answers.at(answerMs, () => (isFailure ? fail(endpoint) : answer(endpoint, sentMs, others)));
    const isInTime = !isFailure && answerMs - nowMs <= (leftMs ?? LATE * workMs);
    settle(isInTime);
    if (isInTime) inTime++;
    if (endpoint.isFar) far++;
  }
  return { inTime: inTime / requests, far: far / requests };
}

function exponential(draw: Draw): number {
  return -Math.log(1 - draw());
}

function normal(draw: Draw): number {
  return Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw());
}

export function drawnSystem(draw: Draw): EndpointSystem {
  const workMs = 10;
  const count = 3 + Math.floor(draw() ** 2 * 30);
  const farMs = workMs * (0.3 + 2.5 * draw());
  const farShare = draw() < 0.2 ? 0 : 0.3 + 0.5 * draw();
  const isReporting = draw() < 0.5;
  const isFailing = draw() < 0.3;
  const endpoints = Array.from({ length: count }, (_, at): EndpointShape => {
    const isFar = at > 0 && draw() < farShare;
    return {
      roundTripMs: isFar ? farMs * (0.8 + 0.4 * draw()) : 0.5,
      servers: 1 + Math.floor(4 * draw()),
      isFar,
      othersFactor: 0.3 + 1.4 * draw(),
      failing: isFailing && at > 0 && draw() < 0.3 ? 0.2 + 0.8 * draw() : 0,
      isReporting,
    };
  });
  return {
    endpoints,
    workMs,
    load: 0.3 + 0.65 * draw(),
    ownShare: 0.2 + 0.8 * draw(),
    deadline: draw() < 0.2 ? null : [1.5 + draw(), 4 + 4 * draw()],
  };
}
