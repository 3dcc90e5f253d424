// `PORT PATH`: forwards loopback connections to a server outside the node on a Unix socket.
import { connect, createServer } from "node:net";

const [port, path = ""] = process.argv.slice(2);

createServer((near) => {
  const far = connect(path);
  for (const socket of [near, far]) socket.on("error", () => (near.destroy(), far.destroy()));
  near.pipe(far).pipe(near);
}).listen(Number(port), "127.0.0.1");
