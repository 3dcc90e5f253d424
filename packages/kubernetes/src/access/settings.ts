import { constant, flag, oneOf, section, type Section, type SettingsOf } from "@isochrone/runtime";

const table = {
  mode: oneOf(["none", "kubernetes"], {
    default: null,
    description:
      "Who may ask. none: everyone who reaches the server; kubernetes: holders of a bearer token whom RBAC allows it. Without it everyone on a loopback address, and on any other a service does not start.",
  }),
  audience: constant("isochrone", "RBAC says who may ask; tokens for the API server itself are not taken."),
  pathPrefix: constant(
    "/isochrone",
    "It only keeps rules (nonResourceURLs) apart from the API server's own paths, as any other prefix would.",
  ),
  cacheMs: constant(
    50_000,
    "A deleted account gets nothing more after a minute: this, and ten seconds in the API server.",
  ),
  outageMs: constant(
    600_000,
    "An outage of the API server must not blind the graphs; unknown tokens are refused meanwhile.",
  ),
  reviewsPerSecond: constant(200, "It is a bound for floods."),
  maxTokens: constant(50_000, "It is a bound for memory."),
  openMetrics: flag({
    default: true,
    description: "Whether /metrics needs no token. /healthz and /readyz never do.",
  }),
};

/** Who may ask a service for what. */
export const accessSettings: Section<"access", typeof table> = section("access", table, {
  description:
    "Who may read the graph API and send telemetry; the same for all services that serve others over the network.",
});

/** Values of {@link accessSettings}. */
export type AccessSettings = SettingsOf<typeof accessSettings>;
