// The responder thread's entry file with a way to kill it: any message on the channel throws where nobody
// catches.
import "../responder/worker.ts";

/** Name of the BroadcastChannel that kills. */
const channel = new BroadcastChannel("isochrone-responder-test-crash");
channel.addEventListener("message", () => {
  setImmediate(() => {
    throw new Error("told to crash");
  });
});
