// Shares of requests in time by queueing formulas, for Poisson arrivals and exponential work (M/M/k).
import { erlangC } from "@isochrone/primitives/algorithms";

/** A difference of rates that is none. */
const BALANCED = 1e-9;

/**
 * Share of requests that wait for less than their slack, when all wait until they are served.
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
  const load = perSecond * workSeconds;
  if (load <= 0 && servers > 0) return 1;
  if (load >= servers) return 0;
  return 1 - erlangC(servers, load) * Math.exp((-(servers - load) / workSeconds) * slackSeconds);
}

/**
 * Share of requests that are served, when those that would wait longer than their slack leave at its end
 * (Baccelli and Hebuterne 1981). It has a value above saturation too, and each server adds to it.
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
  // Probabilities relative to that of all servers but one being busy.
  let term = 1;
  let notWaiting = 0;
  for (let busy = servers - 1; busy >= 0; busy--) {
    notWaiting += term;
    term *= busy / load;
  }
  const drain = (servers - load) / workSeconds;
  const left = Math.exp(-drain * slackSeconds);
  // Far above saturation: as much is served as can be.
  if (left === Number.POSITIVE_INFINITY) return servers / load;
  const within = perSecond * (Math.abs(drain) < BALANCED ? slackSeconds : (1 - left) / drain);
  const beyond = (perSecond * left * workSeconds) / servers;
  return 1 - beyond / (notWaiting + within + beyond);
}
