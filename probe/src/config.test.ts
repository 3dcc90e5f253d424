import { loadSettings } from "@isochrone/runtime";
import { describe, expect, test } from "vitest";
import { probeConfig, toEngineConfig } from "./config.ts";
import { probeSettings } from "./settings.ts";
import { TEST_HMAC_KEYS } from "./testing/harness.ts";

const ENV = {
  ISOCHRONE_PROBE_NODE: "a",
  ISOCHRONE_PROBE_IDENTITY: "10.0.0.1",
  ISOCHRONE_PROBE_HMAC_KEYS: TEST_HMAC_KEYS,
};

function mistakesOf(env: Record<string, string>): string {
  try {
    loadSettings([probeSettings], { env: { ...ENV, ...env } });
  } catch (error) {
    return String(error);
  }
  return "";
}

describe("probe settings", () => {
  test("the least that must be set is node, identity and keys", () => {
    const { probe } = loadSettings([probeSettings], { env: ENV });
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
      "a publish interval below the interval",
      { ISOCHRONE_PROBE_PUBLISH_INTERVAL_MS: "500" },
      "publishIntervalMs must be at least intervalMs (1000), got 500",
    ],
    [
      "a timeout beyond three publish intervals",
      { ISOCHRONE_PROBE_TIMEOUT_MS: "30001" },
      "timeoutMs must be at most 3 x publishIntervalMs (10000), got 30001",
    ],
    [
      "an unknown method",
      { ISOCHRONE_PROBE_METHODS: "udp_rr,smoke" },
      'methods must be of icmp, udp_rr, tcp_rr, tcp_connect, got "smoke"',
    ],
    [
      "an identity that is no address",
      { ISOCHRONE_PROBE_IDENTITY: "a.example" },
      "identity must be the IP address",
    ],
    [
      "a signing key that isn't there",
      { ISOCHRONE_PROBE_SIGNING_KEY_ID: "2" },
      "signingKeyId must be the id of one of hmacKeys, got 2",
    ],
    [
      "a packet larger than any path takes",
      { ISOCHRONE_PROBE_PACKET_BYTES: "1500" },
      "must be at most 1200, got 1500",
    ],
    [
      "a short key",
      { ISOCHRONE_PROBE_HMAC_KEYS: "1:c2hvcnQ=" },
      "must have a base64 secret of at least 16 bytes, got 5",
    ],
    [
      "a key without id",
      { ISOCHRONE_PROBE_HMAC_KEYS: TEST_HMAC_KEYS.slice(2) },
      "must begin with a key id from 1 to 65535",
    ],
    [
      "a key id twice",
      { ISOCHRONE_PROBE_HMAC_KEYS: `${TEST_HMAC_KEYS},${TEST_HMAC_KEYS}` },
      "must have each id once, got 1 twice",
    ],
    ["a DSCP beyond six bits", { ISOCHRONE_PROBE_DSCP: "64" }, "must be at most 63, got 64"],
    [
      "no keys where packets are to be signed",
      { ISOCHRONE_PROBE_HMAC_KEYS: "" },
      "hmacKeys or hmacKeysFile must be set unless authentication is none, got neither",
    ],
  ])("%s is refused with rule and value", (_title, env, message) => {
    expect(mistakesOf(env)).toContain(message);
  });

  test("without authentication no key is needed, and none is used", () => {
    const env = { ...ENV, ISOCHRONE_PROBE_HMAC_KEYS: "", ISOCHRONE_PROBE_AUTHENTICATION: "none" };
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
    const values = { node: "a", identity: "10.0.0.1", hmacKeys: TEST_HMAC_KEYS };
    for (const [wrong, message] of [
      [{ authentication: "md5" }, 'authentication must be one of hmac, none, got "md5"'],
      [{ icmpProber: "ping" }, 'icmpProber must be one of auto, kernel, fping, net_ping, got "ping"'],
      [{ dscp: -1 }, "dscp must be from 0 to 63, got -1"],
      [{ icmpPayloadBytes: 8 }, "icmpPayloadBytes must be from 32 to 1400, got 8"],
      [{ connectIntervalMs: 1 }, "connectIntervalMs must be at least 10, got 1"],
    ] as const) {
      expect(() => probeConfig({ ...values, ...wrong })).toThrow(message);
    }
  });

  test("no message shows a key", () => {
    const secret = "bm90LWEtc2VjcmV0LWJ1dC1sb25nLWVub3VnaA==";
    for (const keys of [`x:${secret}`, `1:${secret},1:${secret}`, secret]) {
      expect(mistakesOf({ ISOCHRONE_PROBE_HMAC_KEYS: keys })).not.toContain(secret.slice(0, 12));
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
