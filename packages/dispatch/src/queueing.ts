// Shares of requests in time in M/M/k queues (Poisson arrivals, exponential work).
import { erlangC } from "@isochrone/primitives/algorithms";

const BALANCED = 1e-9;

/**
 * Share of requests that wait less than their slack, if all wait until served.
 * @param servers concurrent requests
 * @param perSecond arrivals
 * @param workSeconds mean service time without waiting
 * @param slackSeconds acceptable wait
 */
export function shareInTime(
  servers: number,
  perSecond: number,
  workSeconds: number,
  slackSeconds: number,
): number {
  const load = perSecond * workSeconds;
  if (load <= 0 && servers > 0) return 1;
  if (load >= servers) return 0;
  return 1 - erlangC(servers, load) * Math.exp((-(servers - load) / workSeconds) * slackSeconds);
}

/**
 * Share of requests served, if those that would wait longer than their slack leave at its end (Baccelli and
 * Hebuterne 1981). Also defined above saturation, and increasing in servers.
 */
export function shareServed(
  servers: number,
  perSecond: number,
  workSeconds: number,
  slackSeconds: number,
): number {
  if (servers <= 0) return 0;
  const load = perSecond * workSeconds;
  if (load <= 0) return 1;
  // Probabilities relative to the state with all servers but one busy.
  let term = 1;
  let notWaiting = 0;
  for (let busy = servers - 1; busy >= 0; busy--) {
    notWaiting += term;
    term *= busy / load;
  }
  const drain = (servers - load) / workSeconds;
  const left = Math.exp(-drain * slackSeconds);
  if (left === Number.POSITIVE_INFINITY) return servers / load;
  const within = perSecond * (Math.abs(drain) < BALANCED ? slackSeconds : (1 - left) / drain);
  const beyond = (perSecond * left * workSeconds) / servers;
  return 1 - beyond / (notWaiting + within + beyond);
}
