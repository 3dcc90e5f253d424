import { loadSettings } from "@isochrone/runtime";
import { describe, expect, test } from "vitest";
import { toEngineConfig } from "./config.ts";
import { probeSettings } from "./settings.ts";
import { TEST_HMAC_KEYS } from "./testing/harness.ts";
import { probeConfig } from "./testing/probe-config.ts";

const ENV = {
  ISOCHRONE_PROBE_NODE: "a",
  ISOCHRONE_PROBE_IDENTITY: "10.0.0.1",
};
const KEYS = { hmacKeys: TEST_HMAC_KEYS };

function mistakesOf(env: Record<string, string>, given: Readonly<Record<string, unknown>> = KEYS): string {
  try {
    loadSettings([probeSettings], { env: { ...ENV, ...env }, overrides: { probe: given } });
  } catch (error) {
    return String(error);
  }
  return "";
}

describe("probe settings", () => {
  test("the least that must be set is node, identity and keys", () => {
    const { probe } = loadSettings([probeSettings], { env: ENV, overrides: { probe: KEYS } });
    const engine = toEngineConfig(probe);
    expect(engine).toMatchObject({
      node: "a",
      identity: "10.0.0.1",
      intervalMs: 1000,
      timeoutMs: 2000,
      methods: ["icmp", "udp_rr", "tcp_rr", "tcp_connect"],
    });
    expect(engine.keys).toHaveLength(1);
  });

  test.each([
    ["an interval below 10 ms", { ISOCHRONE_PROBE_INTERVAL_MS: "9" }, "must be at least 10, got 9"],
    [
      "an unknown method",
      { ISOCHRONE_PROBE_METHODS: "udp_rr,smoke" },
      'must hold only icmp, udp_rr, tcp_rr, tcp_connect ("smoke" does not)',
    ],
    [
      "an identity that is no address",
      { ISOCHRONE_PROBE_IDENTITY: "a.example" },
      "identity must be the IP address",
    ],
    ["a DSCP beyond six bits", { ISOCHRONE_PROBE_DSCP: "64" }, "must be at most 63, got 64"],
  ])("%s is refused with rule and value", (_title, env, message) => {
    expect(mistakesOf(env)).toContain(message);
  });

  test.each([
    [
      "a publish interval below the interval",
      { ...KEYS, publishIntervalMs: 500 },
      "publishIntervalMs must be at least intervalMs (1000), got 500",
    ],
    [
      "a timeout beyond three publish intervals",
      { ...KEYS, timeoutMs: 30_001 },
      "timeoutMs must be at most 3 x publishIntervalMs (10000), got 30001",
    ],
    [
      "a signing key that isn't there",
      { ...KEYS, signingKeyId: 2 },
      "signingKeyId must be the id of one of hmacKeys, got 2",
    ],
    [
      "a packet larger than any path takes",
      { ...KEYS, packetBytes: 1500 },
      "packetBytes must be at most 1200, got 1500",
    ],
    ["a short key", { hmacKeys: "1:c2hvcnQ=" }, "must have a base64 secret of at least 16 bytes, got 5"],
    ["a key without id", { hmacKeys: TEST_HMAC_KEYS.slice(2) }, "must begin with a key id from 1 to 65535"],
    [
      "a key id twice",
      { hmacKeys: `${TEST_HMAC_KEYS},${TEST_HMAC_KEYS}` },
      "must have each id once, got 1 twice",
    ],
    [
      "no keys where packets are to be signed",
      {},
      "hmacKeys or hmacKeysFile must be set unless authentication is none, got neither",
    ],
  ])("%s, given by a program, is refused with rule and value", (_title, given, message) => {
    expect(mistakesOf({}, given)).toContain(message);
  });

  test("without authentication no key is needed, and none is used", () => {
    const env = { ...ENV, ISOCHRONE_PROBE_AUTHENTICATION: "none" };
    const { probe } = loadSettings([probeSettings], { env });
    expect(toEngineConfig(probe)).toMatchObject({ keys: [], signingKeyId: 0 });
    const withKeys = probeConfig({
      node: "a",
      identity: "10.0.0.1",
      hmacKeys: TEST_HMAC_KEYS,
      authentication: "none",
    });
    expect(toEngineConfig(withKeys)).toMatchObject({ keys: [], signingKeyId: 0 });
  });

  test("values that a program gives are checked like those of the environment", () => {
    for (const [wrong, message] of [
      [{ authentication: "md5" }, "(ISOCHRONE_PROBE_AUTHENTICATION) must be one of hmac, none, got md5"],
      [
        { icmpProber: "fping" },
        "(ISOCHRONE_PROBE_ICMP_PROBER) must be one of auto, kernel, net_ping, got fping",
      ],
      [{ dscp: -1 }, "(ISOCHRONE_PROBE_DSCP) must be at least 0, got -1"],
      [{ icmpPayloadBytes: 8 }, "probe.icmpPayloadBytes must be at least 32, got 8"],
      [{ connectIntervalMs: 1 }, "probe.connectIntervalMs must be at least 10, got 1"],
    ] as const) {
      expect(mistakesOf({}, { ...KEYS, ...wrong })).toContain(message);
    }
  });

  test("no message shows a key", () => {
    const secret = "bm90LWEtc2VjcmV0LWJ1dC1sb25nLWVub3VnaA==";
    for (const keys of [`x:${secret}`, `1:${secret},1:${secret}`, secret]) {
      expect(mistakesOf({}, { hmacKeys: keys })).not.toContain(secret.slice(0, 12));
    }
  });

  test("without an identity the bind address is it, if it is one", () => {
    const config = probeConfig({ node: "a", hmacKeys: TEST_HMAC_KEYS, bindAddress: "127.0.0.5" });
    expect(toEngineConfig(config).identity).toBe("127.0.0.5");
    expect(() => probeConfig({ node: "a", hmacKeys: TEST_HMAC_KEYS })).toThrow(
      /identity must be the IP address .* got "0.0.0.0"/,
    );
  });
});
