import type { AccessDecision, ReviewSubject } from "@isochrone/kubernetes/access";
import { Counter, Gauge, type Registry } from "prom-client";

/** What is counted of access. */
interface AccessMetrics {
  readonly onDecision: (kind: AccessDecision["kind"]) => void;
  readonly onReview: (subject: ReviewSubject, result: string) => void;
}

export function createAccessMetrics(registry: Registry, knownTokens: () => number): AccessMetrics {
  const decisions = new Counter({
    name: "isochrone_access_decisions_total",
    help: "Requests that were judged, by what came of it.",
    labelNames: ["decision"],
    registers: [registry],
  });
  const reviews = new Counter({
    name: "isochrone_access_reviews_total",
    help: "TokenReviews (token) and SubjectAccessReviews (access) that the API server was asked for.",
    labelNames: ["subject", "result"],
    registers: [registry],
  });
  const known: Gauge = new Gauge({
    name: "isochrone_access_known_tokens",
    help: "Tokens whose holders are known.",
    registers: [],
    collect: (): void => known.set(knownTokens()),
  });
  registry.registerMetric(known);
  return {
    onDecision: (decision) => decisions.inc({ decision }),
    onReview: (subject, result) => reviews.inc({ subject, result }),
  };
}
