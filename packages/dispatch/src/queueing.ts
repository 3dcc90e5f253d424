// Shares of requests in time by queueing formulas (M/M/k).

/** Part of the requests that an overloaded queue still serves in time. */
const OVERLOADED = 0.85;

/**
 * Probability that a request must wait (Erlang C).
 * @param servers requests that are served at once
 * @param load arrivals per second times seconds of work each
 */
export function erlangC(servers: number, load: number): number {
  if (load >= servers) return 1;
  if (load <= 0) return 0;
  let inverse = 1;
  for (let k = 1; k <= servers; k++) inverse = 1 + (inverse * k) / load;
  const blocked = 1 / inverse;
  return blocked / (1 - (load / servers) * (1 - blocked));
}

/**
 * Share of requests that wait for less than their slack.
 * @param servers requests that are served at once
 * @param perSecond arrivals
 * @param workSeconds mean time of a request without waiting
 * @param slackSeconds how long a request may wait
 */
export function shareInTime(
  servers: number,
  perSecond: number,
  workSeconds: number,
  slackSeconds: number,
): number {
  if (servers <= 0) return 0;
  const load = perSecond * workSeconds;
  if (load <= 0) return 1;
  if (load >= servers) return (OVERLOADED * servers) / load;
  return 1 - erlangC(servers, load) * Math.exp((-(servers - load) / workSeconds) * slackSeconds);
}
