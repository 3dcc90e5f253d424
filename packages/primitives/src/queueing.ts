/**
 * Waiting probability (Erlang C) for Poisson arrivals and exponential service.
 * @param servers concurrent requests
 * @param load arrivals per second times seconds of service
 */
export function erlangC(servers: number, load: number): number {
  if (load >= servers) return 1;
  if (load <= 0) return 0;
  let inverse = 1;
  for (let k = 1; k <= servers; k++) inverse = 1 + (inverse * k) / load;
  const blocked = 1 / inverse;
  return blocked / (1 - (load / servers) * (1 - blocked));
}
