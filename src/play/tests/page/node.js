// Answers requests, one a line on standard input, with the engine of the published page: a list of lines for each.
"use strict";
const fs = require("fs"), vm = require("vm");

const page = fs.readFileSync(process.argv[2], "utf8");
const part = (id) => page.split(`id="${id}">`)[1].split("</script>")[0];
vm.runInThisContext(part("engine"));
(async () => {
  const module = await unpack(part("module"));
  for (const line of fs.readFileSync(0, "utf8").trim().split("\n")) {
    const answer = [];
    ask(module, JSON.parse(line), (line) => answer.push(line));
    console.log(`[${answer.join(",")}]`);
  }
})();
