import type { AccessDecision, ReviewSubject } from "@isochrone/kubernetes/access";
import { ScrapedMetrics } from "@isochrone/runtime";
import { Counter, type Registry } from "prom-client";

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
  new ScrapedMetrics(registry).gauge(
    "isochrone_access_known_tokens",
    "Tokens whose holders are known.",
    knownTokens,
  );
  return {
    onDecision: (decision) => decisions.inc({ decision }),
    onReview: (subject, result) => reviews.inc({ subject, result }),
  };
}
