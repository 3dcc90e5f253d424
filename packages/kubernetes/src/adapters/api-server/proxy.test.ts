import { expect, it } from "vitest";
import { proxyOf } from "./proxy.ts";

const PROXY = "http://proxy.example:3128";

// Expected values are those of golang.org/x/net/http/httpproxy.
it.each([
  ["https://api.example", "", true],
  ["https://api.example", "*", false],
  ["https://api.example", "other.example, api.example", false],
  ["https://api.example", "example", false],
  ["https://api.example", ".example", false],
  ["https://api.example", "*.example", false],
  ["https://api.example", ".api.example", true],
  ["https://api.example", "pi.example", true],
  ["https://api.example:6443", "api.example:443", true],
  ["https://api.example:6443", "API.example:6443", false],
  ["https://10.1.2.3:6443", "10.0.0.0/8", false],
  ["https://10.1.2.3:6443", "10.2.0.0/16", true],
  ["https://10.1.2.3:6443", "10.1.2.3", false],
  ["https://[fd00::7]:6443", "fd00::/8", false],
  ["https://[fd00::7]:6443", "fd00::7", false],
  ["https://[fd00::7]:6443", "[fd00::7]:6443", false],
  ["https://[fd00::7]:6443", "fd00::8,10.0.0.0/99,x/8", true],
  ["https://localhost:6443", "", false],
  ["https://127.0.0.1:6443", "", false],
  ["https://[::1]:6443", "", false],
])("%s with NO_PROXY=%s is proxied: %s", (server, direct, isProxied) => {
  expect(proxyOf(new URL(server), { HTTPS_PROXY: PROXY, NO_PROXY: direct })).toBe(isProxied ? PROXY : null);
});

it("takes the variable of the scheme, in either case, with or without a scheme of its own", () => {
  const env = { https_proxy: "secure.example:1", HTTP_PROXY: "socks5://plain.example:2" };
  expect(proxyOf(new URL("https://a.example"), env)).toBe("http://secure.example:1");
  expect(proxyOf(new URL("http://a.example"), env)).toBe("socks5://plain.example:2");
  expect(proxyOf(new URL("http://a.example"), { HTTPS_PROXY: PROXY })).toBeNull();
});
