// Load of one endpoint as seen by one dispatcher: own requests, response times, failures, and the endpoint's
// reports. Times are the caller's monotonic ms.

/** An endpoint's ORCA report. Utilization 1 is full. */
export interface LoadReport {
  readonly utilization: number;
  readonly requestsPerSecond: number | null;
  readonly errorsPerSecond: number | null;
}

const NEWEST = 0.2;
/** EWMA weight of a response: one failure in a hundred is no reason to avoid an endpoint. */
const NEWEST_FAILURE = 0.05;
/** Smaller failure shares count as 0, so that an endpoint is tried again. */
const NO_FAILURES = 0.03;
/** Half-life of observed waiting: an endpoint without requests isn't observed. */
const WAIT_HALF_LIFE_MS = 3_000;
const FAILURE_HALF_LIFE_MS = 10_000;
const REPORT_AGE_MS = 5_000;
/** Largest utilization for the queueing formula; above it each request adds one service time. */
const FULL = 0.98;
const IDLE = 0.02;

export class EndpointLoad {
  #inFlight = 0;
  /** Start at 0: the first response is slow because of its connection and must not deter others. */
  #timeMs = 0;
  #atOnce = 0;
  #answeredAtMs = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #failedAtMs = Number.NEGATIVE_INFINITY;
  #report: LoadReport | null = null;
  #reportedAtMs = Number.NEGATIVE_INFINITY;
  #inFlightThen = 0;

  get inFlight(): number {
    return this.#inFlight;
  }

  get reportedAtMs(): number {
    return this.#reportedAtMs;
  }

  /** @returns own other requests in flight, for {@link answered} */
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

  /** Ignores the time: an endpoint that fails at once would look idle. */
  failed(nowMs: number): void {
    this.#failures = this.#decayedFailures(nowMs) * (1 - NEWEST_FAILURE) + NEWEST_FAILURE;
    this.#failedAtMs = nowMs;
  }

  reported(report: LoadReport, nowMs: number): void {
    this.#report = report;
    this.#reportedAtMs = nowMs;
    this.#inFlightThen = this.#inFlight;
  }

  /** Failure share of requests, 0 to 1; the worse of its own counters and ours. */
  failureShare(nowMs: number): number {
    const own = this.#decayedFailures(nowMs);
    const { requestsPerSecond, errorsPerSecond } = this.#freshReport(nowMs) ?? NO_RATES;
    const said = requestsPerSecond && errorsPerSecond ? Math.min(1, errorsPerSecond / requestsPerSecond) : 0;
    const worse = Math.max(own, said);
    return worse < NO_FAILURES ? 0 : worse;
  }

  fullness(): number {
    return this.#inFlight / (this.#atOnce + 1);
  }

  /** Expected wait: the worse of responses and reports, because an endpoint may report idle and be slow. */
  waitMs(workMs: number, nowMs: number): number {
    return Math.max(this.#seenWaitMs(workMs, nowMs), this.#saidWaitMs(workMs, nowMs));
  }

  #seenWaitMs(workMs: number, nowMs: number): number {
    const beyond = Math.max(0, this.#timeMs - workMs);
    const left = beyond === 0 ? 0 : beyond * halved(nowMs - this.#answeredAtMs, WAIT_HALF_LIFE_MS);
    return Math.max(0, ((workMs + left) * (this.#inFlight + 1)) / (this.#atOnce + 1) - workMs);
  }

  /** Sakasegawa's formula, with the number of servers from Little's law. */
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
