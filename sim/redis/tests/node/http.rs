//! A web page can make a browser send HTTP to a node: none of its text is executed.

use locklab_redis::{Effect, Node, NodeConfig};

fn check(request: &str) {
    let mut node = Node::new(NodeConfig::default());
    let conn = node.accept();
    let mut effects = Vec::new();
    node.receive(conn, request.as_bytes(), 0, &mut effects);
    assert_eq!(effects, [Effect::Close { conn }], "{request}");
    let other = node.accept();
    let mut effects = Vec::new();
    node.receive(other, b"DBSIZE\r\n", 0, &mut effects);
    let bytes = b":0\r\n".as_slice().into();
    assert_eq!(effects, [Effect::Send { conn: other, bytes }], "{request}");
}

#[test]
fn text_of_an_http_request_is_not_executed() {
    let methods = "GET HEAD POST PUT DELETE CONNECT OPTIONS TRACE PATCH get";
    for method in methods.split_whitespace() {
        for header in ["", "Content-Length: 20\r\n", "Host: x\r\n"] {
            check(&format!("{method} /k HTTP/1.1\r\n{header}\r\nSET k v\r\n"));
            check(&format!("{method} /k HTTP/1.0\r\n{header}\r\nSET k v\r\n"));
        }
    }
}

#[test]
fn value_that_looks_like_http_is_stored() {
    let mut node = Node::new(NodeConfig::default());
    let conn = node.accept();
    let mut effects = Vec::new();
    node.receive(conn, b"SET /k HTTP/1.1\r\n", 0, &mut effects);
    let bytes = b"+OK\r\n".as_slice().into();
    assert_eq!(effects, [Effect::Send { conn, bytes }]);
}
