// `receive ADDRESS PORT` prints datagrams; `send ADDRESS PORT BASE64...` sends these and exits.
import { createSocket } from "node:dgram";
import { isIPv6 } from "node:net";

const [role, address = "", port = "", ...payloads] = process.argv.slice(2);
const socket = createSocket(isIPv6(address) ? "udp6" : "udp4");

if (role === "receive") {
  socket.on("message", (payload) => process.stdout.write(`${payload.toString()}\n`));
  socket.bind(Number(port), address, () => process.stdout.write("listening\n"));
} else {
  for (const payload of payloads)
    await new Promise((resolve) =>
      socket.send(Buffer.from(payload, "base64"), Number(port), address, resolve),
    );
  socket.close();
}
