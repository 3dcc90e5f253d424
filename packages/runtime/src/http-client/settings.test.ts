import { expect, test } from "vitest";
import { clientCertificateMistake, clientFilesMistake } from "./settings.ts";

const check = (graphUrl: string, graphTokenFile: string | null, graphCaFile: string | null) =>
  clientFilesMistake("scheduler", { graphUrl }, { graphTokenFile }, { graphCaFile });

test.each([
  ["https://graph.example", "/token", "/ca.pem"],
  ["http://graph.example", null, null],
  ["http://127.0.0.1:8080", "/token", null],
  ["http://[::1]:8080", "/token", null],
  ["http://localhost", "/token", null],
])("%s with token file %s and authorities %s is as it should be", (url, token, ca) => {
  expect(check(url, token, ca)).toBeNull();
});

test("a token must not go over the wire as it is", () => {
  expect(check("http://graph.example", "/token", null)).toBe(
    "scheduler.graphUrl must be https when scheduler.graphTokenFile is set (the token would go over the wire as it is), got http://graph.example",
  );
  expect(check("http://127.0.0.1.example", "/token", null)).toContain("must be https");
});

test("authorities without TLS, and what is no address, are mistakes", () => {
  expect(check("http://127.0.0.1", null, "/ca.pem")).toContain(
    "scheduler.graphCaFile must not be set unless scheduler.graphUrl is https",
  );
  expect(check("nothing", null, null)).toContain("must be an address, got nothing");
});

test.each([
  ["https://scheduler.example", "/tls.crt", "/tls.key", null],
  ["http://scheduler.example", null, null, null],
  [null, null, null, null],
  [
    "https://x",
    "/tls.crt",
    null,
    "aggregator.keyFile must be set together with aggregator.certFile, got none",
  ],
  [
    "https://x",
    null,
    "/tls.key",
    "aggregator.certFile must be set together with aggregator.keyFile, got none",
  ],
  [
    "http://x",
    "/tls.crt",
    "/tls.key",
    "aggregator.certFile must not be set unless aggregator.url is https, got http://x",
  ],
  [
    null,
    "/tls.crt",
    "/tls.key",
    "aggregator.certFile must not be set unless aggregator.url is https, got none",
  ],
])("a client of %s with certificate %s and key %s: %s", (url, certFile, keyFile, mistake) => {
  expect(clientCertificateMistake("aggregator", { url }, { certFile }, { keyFile })).toBe(mistake);
});
