import { Gauge, type Registry } from "prom-client";

const NAME = "isochrone_tls_client_certificate_not_after_seconds";

/** Registers the expiry gauge of our client certificate. `server` is the service that requires it. */
export function certificateEnd(registry: Registry, server: string): (notAfterSeconds: number) => void {
  let gauge = registry.getSingleMetric(NAME) as Gauge | undefined;
  gauge ??= new Gauge({
    name: NAME,
    help: "When the client certificate in use ends, seconds since the epoch.",
    labelNames: ["server"],
    registers: [registry],
  });
  return (notAfterSeconds) => gauge.set({ server }, notAfterSeconds);
}
