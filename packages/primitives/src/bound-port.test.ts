import { expect, it } from "vitest";
import { boundPort } from "./fields.ts";

it("is the port of a server that listens on one, and there is none of a pipe or a closed server", () => {
  expect(boundPort({ address: () => ({ port: 80 }) })).toBe(80);
  expect(() => boundPort({ address: () => "/run/x.sock" })).toThrow("must listen on a port, got /run/x.sock");
  expect(() => boundPort({ address: () => null })).toThrow("must listen on a port, got none");
});
