// What one dispatcher knows of the load of one endpoint: its own requests, how long they take, how many fail,
// and what the endpoint says of itself. Times are monotonic milliseconds of the caller's clock.

/** What an endpoint says of itself, as in ORCA. Utilizations of 1 are full. */
export interface LoadReport {
  readonly utilization: number;
  /** Null: it doesn't say. */
  readonly requestsPerSecond: number | null;
  readonly errorsPerSecond: number | null;
}

/** Weight of a new answer in means. */
const NEWEST = 0.2;
/** Weight of a new answer in the share of failures: one failure in a hundred is no reason to stay away. */
const NEWEST_FAILURE = 0.05;
/** A smaller share of failures counts as none, so that an endpoint is tried again. */
const NO_FAILURES = 0.03;
/** What was seen of waiting is worth half after it: nobody looks at an endpoint that gets no requests. */
const WAIT_HALF_LIFE_MS = 3_000;
const FAILURE_HALF_LIFE_MS = 10_000;
/** An older report says nothing of now. */
const REPORT_AGE_MS = 5_000;
/** Up to here the formula of queues holds; beyond it each request waits for one more. */
const FULL = 0.98;
/** A smaller utilization says nothing of how many requests fit. */
const IDLE = 0.02;

export class EndpointLoad {
  #inFlight = 0;
  /**
   * Time in the endpoint, and requests there at once, as means over answers. They begin at 0: a first answer
   * is slow by its connection, and must not keep others away.
   */
  #timeMs = 0;
  #atOnce = 0;
  #answeredAtMs = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #failedAtMs = Number.NEGATIVE_INFINITY;
  #report: LoadReport | null = null;
  #reportedAtMs = Number.NEGATIVE_INFINITY;
  #inFlightThen = 0;

  /** Own requests that are there or on their way. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** When it last said something of itself. */
  get reportedAtMs(): number {
    return this.#reportedAtMs;
  }

  /** @returns how many others of ours are there, for {@link answered} */
  sent(): number {
    return this.#inFlight++;
  }

  ended(): void {
    this.#inFlight = Math.max(0, this.#inFlight - 1);
  }

  /** @param timeMs without the round trip */
  answered(timeMs: number, others: number, nowMs: number): void {
    this.#timeMs += NEWEST * (timeMs - this.#timeMs);
    this.#atOnce += NEWEST * (others - this.#atOnce);
    this.#answeredAtMs = nowMs;
    this.#failures = this.#decayedFailures(nowMs) * (1 - NEWEST_FAILURE);
    this.#failedAtMs = nowMs;
  }

  /** Its time says nothing: who fails at once looks idle. */
  failed(nowMs: number): void {
    this.#failures = this.#decayedFailures(nowMs) * (1 - NEWEST_FAILURE) + NEWEST_FAILURE;
    this.#failedAtMs = nowMs;
  }

  reported(report: LoadReport, nowMs: number): void {
    this.#report = report;
    this.#reportedAtMs = nowMs;
    this.#inFlightThen = this.#inFlight;
  }

  /** Of its requests, 0 to 1; by its own counters or ours, whichever is worse. */
  failureShare(nowMs: number): number {
    const own = this.#decayedFailures(nowMs);
    const { requestsPerSecond, errorsPerSecond } = this.#freshReport(nowMs) ?? NO_RATES;
    const said = requestsPerSecond && errorsPerSecond ? Math.min(1, errorsPerSecond / requestsPerSecond) : 0;
    const worse = Math.max(own, said);
    return worse < NO_FAILURES ? 0 : worse;
  }

  /** How full it is of own requests, in times of what it has had at once. */
  fullness(): number {
    return this.#inFlight / (this.#atOnce + 1);
  }

  /**
   * How long one more request waits there. Of what its answers and its reports make expect, the worse: an
   * endpoint may say that it is idle and be slow.
   */
  waitMs(workMs: number, nowMs: number): number {
    return Math.max(this.#seenWaitMs(workMs, nowMs), this.#saidWaitMs(workMs, nowMs));
  }

  #seenWaitMs(workMs: number, nowMs: number): number {
    const beyond = Math.max(0, this.#timeMs - workMs);
    const left = beyond === 0 ? 0 : beyond * halved(nowMs - this.#answeredAtMs, WAIT_HALF_LIFE_MS);
    return Math.max(0, ((workMs + left) * (this.#inFlight + 1)) / (this.#atOnce + 1) - workMs);
  }

  /** Sakasegawa's formula for as many servers as Little's law makes of the report. */
  #saidWaitMs(workMs: number, nowMs: number): number {
    const report = this.#freshReport(nowMs);
    if (report === null) return 0;
    const { utilization, requestsPerSecond } = report;
    const busy = ((requestsPerSecond ?? 0) * workMs) / 1000;
    const servers = Math.max(1, utilization > IDLE && busy > 0 ? busy / utilization : this.#atOnce + 1);
    const since = Math.max(0, this.#inFlight - this.#inFlightThen);
    const full = utilization + since / servers;
    const formula = Math.min(full, FULL);
    const waits = formula ** (Math.sqrt(2 * (servers + 1)) - 1) / (servers * (1 - formula));
    return workMs * (waits + Math.max(0, full - FULL));
  }

  #freshReport(nowMs: number): LoadReport | null {
    return nowMs - this.#reportedAtMs <= REPORT_AGE_MS ? this.#report : null;
  }

  #decayedFailures(nowMs: number): number {
    return this.#failures === 0 ? 0 : this.#failures * halved(nowMs - this.#failedAtMs, FAILURE_HALF_LIFE_MS);
  }
}

const NO_RATES = { requestsPerSecond: null, errorsPerSecond: null };

function halved(ageMs: number, halfLifeMs: number): number {
  return 2 ** (-Math.max(0, ageMs) / halfLifeMs);
}
