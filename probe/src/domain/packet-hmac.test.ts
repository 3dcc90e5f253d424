import { createHmac } from "node:crypto";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { PacketHmac } from "./packet-hmac.ts";

test("is the HMAC of RFC 4231", () => {
  const hmac = new PacketHmac(Buffer.from("Jefe"));
  const message = Buffer.from("what do ya want for nothing?");
  expect(hmac.digest(message, message.length).toString("hex")).toBe(
    "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
  );
});

test("is Node's, for keys and messages of any length, whatever was signed before", () => {
  const bytes = fc.uint8Array({ maxLength: 200 });
  fc.assert(
    fc.property(
      bytes,
      fc.array(bytes, { minLength: 1, maxLength: 4 }),
      fc.nat(200),
      (secret, messages, cut) => {
        const hmac = new PacketHmac(secret);
        for (const message of messages) {
          const length = Math.min(cut, message.length);
          const expected = createHmac("sha256", secret).update(message.subarray(0, length)).digest("hex");
          expect(hmac.digest(message, length).toString("hex")).toBe(expected);
        }
      },
    ),
  );
});
