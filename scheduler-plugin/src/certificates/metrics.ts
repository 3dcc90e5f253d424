// Names and labels of the metrics of the extender's own certificates.
import type { CertificateEvents } from "@isochrone/kubernetes";
import { Counter, Gauge } from "prom-client";
import type { Registry } from "prom-client";

export interface CertificateMetrics {
  readonly events: CertificateEvents;
  readonly failures: Counter<"reason">;
}

export function createCertificateMetrics(registry: Registry): CertificateMetrics {
  const registers = [registry];
  const steps = new Counter({
    name: "isochrone_extender_certificates_steps_total",
    help: "Changes of the extender's own certificates by this replica (create, prepare and switch of an authority, renew, retire). After prepare kube-scheduler must be configured anew.",
    labelNames: ["step"],
    registers,
  });
  const failures = new Counter({
    name: "isochrone_extender_certificates_failures_total",
    help: "Failed looks at the extender's own certificates and those of its clients, by reason.",
    labelNames: ["reason"],
    registers,
  });
  const notAfter = new Gauge({
    name: "isochrone_extender_certificates_not_after_seconds",
    help: "When one of the extender's own certificates (serving, authority) ends, seconds since the epoch.",
    labelNames: ["certificate"],
    registers,
  });
  const events: CertificateEvents = {
    stepped: (step) => steps.inc({ step }),
    expires: (certificate, seconds) => notAfter.set({ certificate }, seconds),
    published: () => undefined,
    isPublished: () => undefined,
  };
  return { events, failures };
}
