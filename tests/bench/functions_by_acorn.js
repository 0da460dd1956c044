// Prints the outermost functions that have a name, as acorn reads them: one JSON object a line.
// Input: paths, one a line. A file that acorn does not parse has a line without a name.
const acorn = require("acorn");
const fs = require("fs");

const FUNCTIONS = ["FunctionExpression", "ArrowFunctionExpression"];
const OWN = ["MethodDefinition", "PropertyDefinition", "Property"];
const print = (row) => console.log(JSON.stringify(row));
const nameOf = (key, computed) =>
  computed ? null : key.type === "Literal" ? String(key.value)
    : key.name === undefined ? null : (key.type === "PrivateIdentifier" ? "#" : "") + key.name;

function assignedName(node) {
  const statement = { VariableDeclaration: () => node.declarations.length === 1 && node.declarations[0],
    ExpressionStatement: () => node.expression }[node.type];
  const inner = statement ? statement() : node;
  const [target, first] = inner.type === "VariableDeclarator" ? [inner.id, inner.init]
    : inner.type === "AssignmentExpression" ? [inner.left, inner.right] : [null, null];
  let value = first;
  while (value && value.type === "AssignmentExpression") value = value.right;
  if (!target || !value || !FUNCTIONS.includes(value.type)) return null;
  return target.type === "MemberExpression" ? nameOf(target.property, target.computed)
    : nameOf(target, false);
}

function visit(node, path) {
  const isOwn = OWN.includes(node.type) && node.value && FUNCTIONS.includes(node.value.type);
  const name = node.type === "FunctionDeclaration" && node.id ? node.id.name
    : isOwn ? nameOf(node.key, node.computed) : assignedName(node);
  if (name !== null) return print({ path, name, line: node.loc.start.line });
  for (const child of Object.values(node).flat()) {
    if (child && typeof child.type === "string") visit(child, path);
  }
}

for (const path of fs.readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  const text = fs.readFileSync(path, "utf8");
  const options = { ecmaVersion: "latest", locations: true, allowHashBang: true, allowReturnOutsideFunction: true };
  let tree = null;
  for (const sourceType of ["module", "script"]) {
    try { tree = tree || acorn.parse(text, { ...options, sourceType }); } catch { /* the other */ }
  }
  if (tree) visit(tree, path); else print({ path, name: null });
}
