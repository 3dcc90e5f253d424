import {
  duration,
  flag,
  integer,
  oneOf,
  section,
  text,
  type Section,
  type SettingsOf,
} from "@isochrone/runtime";

const table = {
  mode: oneOf(["none", "kubernetes"], {
    default: null,
    description:
      "Who may ask. none: everyone who reaches the server; kubernetes: holders of a bearer token whom RBAC allows it. Without it everyone on a loopback address, and on any other a service does not start.",
  }),
  audience: text({
    default: "isochrone",
    maxLength: 200,
    description: "Audience that a token must be made for; tokens for the API server itself are not taken.",
  }),
  pathPrefix: text({
    default: "/isochrone",
    maxLength: 200,
    pattern: /(?!\/apis?(\/|$))(\/[A-Za-z0-9._~-]+)+/,
    patternRule: "must be a path such as /isochrone, not below /api or /apis, which every account may get",
    description:
      "What stands in front of paths in the rules (nonResourceURLs): /isochrone/api/v1/graph/cluster. Of /metrics nothing.",
  }),
  cacheMs: duration({
    default: 50_000,
    min: 1000,
    max: 60_000,
    description:
      "How long an answer of the API server holds. It remembers for up to 10 s itself whom it has let in: a deleted account gets nothing more after the sum of both.",
  }),
  outageMs: duration({
    default: 600_000,
    min: 0,
    max: 3_600_000,
    description:
      "How long an answer holds while the API server gives none, at most until the token ends. Unknown tokens get 503 meanwhile.",
  }),
  reviewsPerSecond: integer({
    default: 200,
    min: 4,
    max: 10_000,
    description:
      "Unknown tokens and requests that the API server is asked about; a quarter of it for each address that they come from.",
  }),
  maxTokens: integer({
    default: 50_000,
    min: 16,
    description: "Tokens that are known at one time; each probe and collector has its own.",
  }),
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
