// `PORT PATH` on a node: connections to the port of its loopback address go to a server outside of the node,
// which listens on a Unix socket.
import { connect, createServer } from "node:net";

const [port, path = ""] = process.argv.slice(2);

createServer((near) => {
  const far = connect(path);
  for (const socket of [near, far]) socket.on("error", () => (near.destroy(), far.destroy()));
  near.pipe(far).pipe(near);
}).listen(Number(port), "127.0.0.1");
