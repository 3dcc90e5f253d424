import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { StoreError } from "../store/errors.ts";
import { AccessReview, type AccessDecision, type AccessReviewOptions } from "./access-review.ts";
import { ReviewingStore } from "./testing/reviewing-store.ts";

const CACHE_MS = 60_000;
const OUTAGE_MS = 600_000;
const PROBE_ALLOWED = { kind: "allowed", user: "probe", node: null, pod: null };
let clock: ManualClock;
let cluster: ReviewingStore;
let logger: MemoryLogger;

beforeEach(() => {
  clock = new ManualClock();
  cluster = new ReviewingStore(clock);
  logger = new MemoryLogger();
  cluster.users.set("probe-token", "probe");
  cluster.rules.push("probe post /v1/metrics", "probe get /v1/probe-plan");
});

function reviewOf(options: Partial<AccessReviewOptions> = {}): AccessReview {
  return new AccessReview({
    store: cluster.store,
    clock,
    logger,
    audience: "isochrone",
    cacheMs: CACHE_MS,
    outageMs: OUTAGE_MS,
    reviewsPerSecond: 100,
    maxTokens: 1_000,
    ...options,
  });
}

function post(
  review: AccessReview,
  token: string,
  from = "10.0.0.1",
): AccessDecision | Promise<AccessDecision> {
  return review.decide({ token, verb: "post", path: "/v1/metrics", remoteAddress: from });
}

function jwt(claims: object, signature = "c2ln"): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "RS256" })}.${part(claims)}.${signature}`;
}

test("whom a rule allows it is let in, and asked about once a minute at most", async () => {
  const review = reviewOf();
  expect(await post(review, "probe-token")).toEqual(PROBE_ALLOWED);
  expect(post(review, "probe-token")).toEqual(PROBE_ALLOWED);
  expect([cluster.count("TokenReview"), cluster.count("SubjectAccessReview")]).toEqual([1, 1]);
  await clock.advance(CACHE_MS);
  expect(await post(review, "probe-token")).toEqual(PROBE_ALLOWED);
  expect([cluster.count("TokenReview"), cluster.count("SubjectAccessReview")]).toEqual([2, 2]);
});

test("the question names the audience, and what a service account's pods differ in is left out of the second", async () => {
  cluster.users.set("other-pod", "probe");
  const review = reviewOf();
  await post(review, "probe-token");
  await post(review, "other-pod");
  const [token, access] = cluster.asked;
  expect(token?.spec).toEqual({ token: "probe-token", audiences: ["isochrone"] });
  expect(access?.spec).toEqual({
    nonResourceAttributes: { verb: "post", path: "/v1/metrics" },
    user: "probe",
    groups: ["g"],
    extra: {},
  });
  expect([cluster.count("TokenReview"), cluster.count("SubjectAccessReview")]).toEqual([2, 1]);
});

test("a token that nobody knows is not accepted, and the API server's words stay inside", async () => {
  expect(await post(reviewOf(), "stranger")).toEqual({
    kind: "unauthenticated",
    detail: "the bearer token is not accepted",
  });
});

test.each([[undefined], [["https://kubernetes.default.svc"]]])(
  "a token that was judged for the audiences %j is not for us",
  async (audiences) => {
    cluster.audiences = audiences;
    expect(await post(reviewOf(), "probe-token")).toMatchObject({ kind: "unauthenticated" });
  },
);

test.each([
  [{ aud: ["https://kubernetes.default.svc"] }, "the bearer token is for another audience"],
  [{ aud: "isochrone", exp: -1 }, "the bearer token has expired"],
])("a token that says %j of itself is refused without a review", async (claims, detail) => {
  const { exp } = { exp: undefined, ...claims };
  const token = jwt({ ...claims, ...(exp === undefined ? {} : { exp: clock.now() / 1000 + exp }) });
  expect(await post(reviewOf(), token)).toEqual({ kind: "unauthenticated", detail });
  expect(cluster.asked).toEqual([]);
});

test("a known token is let in no longer than until its own end", async () => {
  const token = jwt({ aud: ["isochrone"], exp: clock.now() / 1000 + 30 });
  cluster.users.set(token, "probe");
  const review = reviewOf();
  expect(await post(review, token)).toMatchObject({ kind: "allowed" });
  await clock.advance(29_999);
  expect(await post(review, token)).toMatchObject({ kind: "allowed" });
  await clock.advance(1);
  expect(await post(review, token)).toMatchObject({ kind: "unauthenticated" });
});

test("what no rule allows is forbidden, and the answer names the rule that is missing", async () => {
  const review = reviewOf();
  const decision = await review.decide({
    token: "probe-token",
    verb: "get",
    path: "/api/v1/graph/cluster",
    remoteAddress: "10.0.0.1",
  });
  expect(decision).toEqual({
    kind: "forbidden",
    user: "probe",
    detail:
      'probe needs a ClusterRole with the rule {nonResourceURLs: ["/api/v1/graph/cluster"], verbs: ["get"]}',
  });
});

test("of a path that does not exist whoever is known may hear, and others may not", async () => {
  const review = reviewOf();
  const ask = { verb: "get", path: null, remoteAddress: "10.0.0.1" };
  expect(await review.decide({ ...ask, token: "probe-token" })).toMatchObject({ kind: "allowed" });
  expect(await review.decide({ ...ask, token: "stranger" })).toMatchObject({ kind: "unauthenticated" });
});

test("a deleted account is out within a minute, while its requests go on", async () => {
  const review = reviewOf();
  await post(review, "probe-token");
  cluster.users.delete("probe-token");
  let allowedForMs = 0;
  while ((await post(review, "probe-token")).kind === "allowed") {
    await clock.advance(1000);
    allowedForMs += 1000;
  }
  expect(allowedForMs).toBeGreaterThan(0);
  expect(allowedForMs).toBeLessThanOrEqual(CACHE_MS);
});

test("a steady client never waits: its grants are renewed beside its requests", async () => {
  const review = reviewOf();
  await post(review, "probe-token");
  const waits: boolean[] = [];
  for (let second = 0; second < 300; second += 5) {
    await clock.advance(5000);
    waits.push(post(review, "probe-token") instanceof Promise);
  }
  expect(waits).not.toContain(true);
  expect(cluster.count("TokenReview")).toBeLessThanOrEqual(8);
});

test("concurrent requests with one token share a review", async () => {
  const review = reviewOf();
  const answers = await Promise.all(
    Array.from({ length: 50 }, async () => await post(review, "probe-token")),
  );
  expect(new Set(answers.map(({ kind }) => kind))).toEqual(new Set(["allowed"]));
  expect([cluster.count("TokenReview"), cluster.count("SubjectAccessReview")]).toEqual([1, 1]);
});

test("a refused token is asked about again after seconds, not for each request", async () => {
  const review = reviewOf();
  await post(review, "late");
  cluster.users.set("late", "probe");
  expect(await post(review, "late")).toMatchObject({ kind: "unauthenticated" });
  expect(cluster.count("TokenReview")).toBe(1);
  await clock.advance(10_000);
  expect(await post(review, "late")).toMatchObject({ kind: "allowed" });
});

test("while the API server is away the known go on as long as was said, and the unknown are sent away", async () => {
  const review = reviewOf();
  await post(review, "probe-token");
  cluster.failure = new StoreError("unavailable", "connection refused");
  await clock.advance(CACHE_MS);
  expect(await post(review, "probe-token")).toMatchObject({ kind: "allowed" });
  expect(await post(review, "new-token")).toMatchObject({ kind: "unavailable" });
  await clock.advance(OUTAGE_MS - CACHE_MS - 1);
  expect(await post(review, "probe-token")).toMatchObject({ kind: "allowed" });
  await clock.advance(1);
  expect(await post(review, "probe-token")).toMatchObject({ kind: "unavailable" });
  cluster.failure = null;
  await clock.advance(1000);
  expect(await post(review, "probe-token")).toMatchObject({ kind: "allowed" });
  expect(logger.lines.filter(({ level }) => level === "warn").length).toBeGreaterThan(0);
});

test("an API server that is away is tried once a second, whatever comes in", async () => {
  const review = reviewOf({ reviewsPerSecond: 10_000 });
  cluster.failure = new StoreError("timeout", "no answer");
  for (let second = 0; second < 10; second++) {
    for (let request = 0; request < 100; request++) await post(review, `token-${second}-${request}`);
    await clock.advance(1000);
  }
  expect(cluster.asked.length).toBeLessThanOrEqual(11);
});

test("a token that the API server calls invalid is refused, and is no outage", async () => {
  const review = reviewOf();
  cluster.failure = new StoreError("invalid", "spec.token: too long");
  expect(await post(review, "odd")).toMatchObject({ kind: "unauthenticated" });
  cluster.failure = null;
  expect(await post(review, "probe-token")).toMatchObject({ kind: "allowed" });
});

test("a review that hangs is given up, and the next one is asked", async () => {
  const review = reviewOf();
  const hanging = Promise.withResolvers<void>();
  cluster.gate = hanging.promise;
  const decision = post(review, "probe-token");
  await clock.advance(5_000);
  expect(await decision).toMatchObject({ kind: "unavailable" });
  cluster.gate = Promise.resolve();
  await clock.advance(1_000);
  expect(await post(review, "probe-token")).toMatchObject({ kind: "allowed" });
  hanging.resolve();
});

test("a flood of unknown tokens from one address leaves reviews for others, and the known aren't touched by it", async () => {
  const review = reviewOf({ reviewsPerSecond: 40, maxTokens: 16 });
  await post(review, "probe-token");
  let throttled = 0;
  for (let count = 0; count < 20_000; count++) {
    if ((await post(review, `flood-${count}`, "10.6.6.6")).kind === "throttled") throttled += 1;
  }
  expect(throttled).toBeGreaterThan(19_900);
  expect(cluster.asked.length).toBeLessThan(100);
  expect(post(review, "probe-token")).toEqual(PROBE_ALLOWED);
  cluster.users.set("newcomer", "probe");
  expect(await post(review, "newcomer", "10.0.0.7")).toMatchObject({ kind: "allowed" });
});

test("tokens that are known push each other out beyond the bound, not the memory", async () => {
  const review = reviewOf({ maxTokens: 16, reviewsPerSecond: 10_000 });
  for (let count = 0; count < 100; count++) {
    cluster.users.set(`token-${count}`, "probe");
    await post(review, `token-${count}`);
  }
  expect(review.knownTokens).toBe(16);
});

describe("what a token is bound to", () => {
  const ACCOUNT = "system:serviceaccount:isochrone:probe";
  const CLAIMS = {
    "authentication.kubernetes.io/node-name": ["n1"],
    "authentication.kubernetes.io/pod-name": ["probe-x"],
    "authentication.kubernetes.io/pod-uid": ["uid-x"],
  };

  async function decided(user: string, extra: Readonly<Record<string, readonly string[]>>) {
    cluster.users.set("token", user);
    cluster.extras.set("token", extra);
    cluster.rules.push(`${user} post /v1/metrics`);
    return post(reviewOf(), "token");
  }

  test("is told of a service account's, by what the API server has verified", async () => {
    expect(await decided(ACCOUNT, CLAIMS)).toEqual({
      kind: "allowed",
      user: ACCOUNT,
      node: "n1",
      pod: { namespace: "isochrone", name: "probe-x", uid: "uid-x" },
    });
  });

  test("is told apart for two pods of one account, whose rights are asked for once", async () => {
    cluster.users.set("other", ACCOUNT);
    cluster.extras.set("other", { "authentication.kubernetes.io/node-name": ["n2"] });
    const review = reviewOf();
    cluster.users.set("token", ACCOUNT);
    cluster.extras.set("token", CLAIMS);
    cluster.rules.push(`${ACCOUNT} post /v1/metrics`);
    expect([await post(review, "token"), await post(review, "other")]).toMatchObject([
      { node: "n1" },
      { node: "n2", pod: null },
    ]);
    expect([cluster.count("TokenReview"), cluster.count("SubjectAccessReview")]).toEqual([2, 1]);
  });

  test("is believed of service accounts only: what other users carry comes from elsewhere", async () => {
    for (const user of ["alice", "system:node:n1", "system:serviceaccount:isochrone"])
      expect(await decided(user, CLAIMS)).toMatchObject({ user, node: null, pod: null });
  });

  test("is nothing where the API server says nothing, or half of it", async () => {
    const half = { "authentication.kubernetes.io/pod-uid": [] };
    expect(await decided(ACCOUNT, half)).toMatchObject({ node: null, pod: null });
  });
});
