// Package s3mem is an in-memory S3 for tests and the benchmark. It has what transfers need: ranges,
// parts, lists and checksums. Tests can add faults to its answers.
package s3mem

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"hash"
	"hash/crc64"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Object is a content with the headers of its answers.
type Object struct {
	Body []byte
	// ETag includes its quotation marks; Put replaces "" by the MD5 of the body.
	ETag string
	// Header is sent with the object, checksums only if the request asks for them.
	Header http.Header
	// Parts, as XML, is what GetObjectAttributes answers about them.
	Parts string
}

// Fault changes the answer to one request. The zero Fault changes nothing.
type Fault struct {
	// Status and Code are the answer instead of anything else.
	Status int
	Code   string
	// Cut ends the connection after so many bytes of the body; Stall keeps it open and sends no
	// more until the client leaves.
	Cut, Stall int
	// Flip corrupts the byte at this position of the body, counted from 1.
	Flip int
	// Header is added to the answer.
	Header http.Header
}

// Server is an http.Handler with path-style addresses. Its fields are set before it is used.
type Server struct {
	// Page is how many keys a list has at most; 0 is 1000.
	Page int
	// Discard keeps no uploads, and does not read them.
	Discard bool
	// Fault is called before each request. It may change objects: Lock is not held.
	Fault func(r *http.Request) Fault

	mu      sync.Mutex
	objects map[string]*Object        // by "bucket/key"
	uploads map[string]map[int][]byte // parts by upload id and number
	asked   []string                  // see Asked
}

// Put stores an object; key is bucket/key.
func (s *Server) Put(key string, o *Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects == nil {
		s.objects = map[string]*Object{}
	}
	if o.ETag == "" {
		sum := md5.Sum(o.Body)
		o.ETag = `"` + hex.EncodeToString(sum[:]) + `"`
	}
	s.objects[key] = o
}

// Get returns the object at bucket/key, or nil.
func (s *Server) Get(key string) *Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[key]
}

// Keys returns the keys of all objects, in order.
func (s *Server) Keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := make([]string, 0, len(s.objects))
	for key := range s.objects {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// Asked returns the requests so far: method, path and range.
func (s *Server) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// Uploads returns how many uploads have begun and are neither complete nor removed.
func (s *Server) Uploads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.uploads)
}

// ServeHTTP answers the requests of the SDK that package objects sends. It does not check signatures.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("Range")))
	s.mu.Unlock()
	var f Fault
	if s.Fault != nil {
		f = s.Fault(r)
	}
	for name, values := range f.Header {
		w.Header()[name] = values
	}
	if f.Status != 0 {
		_, _ = io.Copy(io.Discard, r.Body)
		failed(w, f.Status, f.Code)
		return
	}
	key := strings.TrimPrefix(r.URL.Path, "/")
	query := r.URL.Query()
	switch _, name, _ := strings.Cut(key, "/"); {
	case r.Method == http.MethodPut && name == "":
		// CreateBucket: buckets need not exist.
	case r.Method == http.MethodGet && name == "":
		s.list(w, strings.TrimSuffix(key, "/"), query)
	case r.Method == http.MethodPost && query.Has("uploads"):
		s.begin(w, key)
	case r.Method == http.MethodPost:
		s.complete(w, r, key, query.Get("uploadId"))
	case r.Method == http.MethodDelete:
		s.mu.Lock()
		if query.Has("uploadId") {
			delete(s.uploads, query.Get("uploadId"))
		} else {
			delete(s.objects, key) // S3 answers the same for a missing object
		}
		s.mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodPut:
		s.put(w, r, key, query)
	case query.Has("attributes"):
		s.attributes(w, key)
	default:
		s.get(w, r, key, f)
	}
}

// failed answers with an error in S3's form.
func failed(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, `<?xml version="1.0"?><Error><Code>%s</Code><Message>a fault of the test</Message></Error>`, code)
}

// get answers with an object, or a range of it.
func (s *Server) get(w http.ResponseWriter, r *http.Request, key string, f Fault) {
	o := s.Get(key)
	if o == nil {
		failed(w, http.StatusNotFound, "NoSuchKey")
		return
	}
	if match := r.Header.Get("If-Match"); match != "" && match != o.ETag {
		failed(w, http.StatusPreconditionFailed, "PreconditionFailed")
		return
	}
	h := w.Header()
	for name, values := range o.Header {
		if !strings.HasPrefix(name, "X-Amz-Checksum-") || r.Header.Get("X-Amz-Checksum-Mode") == "ENABLED" &&
			r.Header.Get("Range") == "" {
			h[name] = values
		}
	}
	h.Set("ETag", o.ETag)
	h.Set("Last-Modified", "Sun, 22 Nov 2026 10:00:00 GMT")
	body, status := o.Body, http.StatusOK
	if from, to, ok := byteRange(r.Header.Get("Range"), len(o.Body)); ok {
		h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to, len(body)))
		body, status = body[from:to+1], http.StatusPartialContent
	} else if r.Header.Get("Range") != "" {
		failed(w, http.StatusRequestedRangeNotSatisfiable, "InvalidRange")
		return
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method == http.MethodHead {
		return
	}
	// The stored body must not change.
	if f.Flip > 0 && f.Flip <= len(body) {
		body = bytes.Clone(body)
		body[f.Flip-1] ^= 1
	}
	switch {
	case f.Cut > 0 && f.Cut < len(body):
		_, _ = w.Write(body[:f.Cut])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler) // closes the connection
	case f.Stall > 0 && f.Stall < len(body):
		_, _ = w.Write(body[:f.Stall])
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	default:
		_, _ = w.Write(body)
	}
}

// byteRange parses bytes=from-to and bytes=from-. ok is false for a header that a content of that
// size cannot satisfy.
func byteRange(text string, size int) (from, to int, ok bool) {
	first, last, found := strings.Cut(strings.TrimPrefix(text, "bytes="), "-")
	from, err := strconv.Atoi(first)
	if to = size - 1; last != "" && err == nil {
		to, err = strconv.Atoi(last)
	}
	return from, min(to, size-1), found && err == nil && from < size && from <= to
}

// put stores an object or a part, if it matches its checksum.
func (s *Server) put(w http.ResponseWriter, r *http.Request, key string, query url.Values) {
	body, etag, ok := s.receive(w, r)
	if !ok {
		return
	}
	w.Header().Set("ETag", etag)
	if id := query.Get("uploadId"); id != "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.uploads[id] == nil {
			failed(w, http.StatusNotFound, "NoSuchUpload")
			return
		}
		number, _ := strconv.Atoi(query.Get("partNumber")) // the SDK always sends it
		s.uploads[id][number] = body
		return
	}
	s.Put(key, &Object{Body: body, ETag: etag, Header: checksums(r.Header)})
}

// receive reads an upload, and rejects it if it does not match its checksum.
func (s *Server) receive(w http.ResponseWriter, r *http.Request) (body []byte, etag string, ok bool) {
	if s.Discard {
		_, err := io.Copy(io.Discard, r.Body)
		return nil, `"0-1"`, err == nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, "", false // the client has left
	}
	if want := r.Header.Get("X-Amz-Checksum-Crc64nvme"); want != "" && want != CRC64NVME(body) {
		failed(w, http.StatusBadRequest, "BadDigest")
		return nil, "", false
	}
	sum := md5.Sum(body)
	return body, `"` + hex.EncodeToString(sum[:]) + `"`, true
}

// checksums returns the headers of an upload that S3 stores with the object.
func checksums(from http.Header) http.Header {
	kept := http.Header{}
	for name, values := range from {
		if strings.HasPrefix(name, "X-Amz-Checksum-") || name == "Content-Type" {
			kept[name] = values
		}
	}
	return kept
}

// begin starts a multipart upload; put stores its parts and complete ends it.
func (s *Server) begin(w http.ResponseWriter, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.uploads == nil {
		s.uploads = map[string]map[int][]byte{}
	}
	// The number of requests is unique, because this one is counted.
	id := fmt.Sprintf("upload-%d", len(s.asked))
	s.uploads[id] = map[int][]byte{}
	_ = xml.NewEncoder(w).Encode(struct {
		XMLName       xml.Name `xml:"InitiateMultipartUploadResult"`
		Key, UploadId string
	}{Key: key, UploadId: id})
}

// complete creates an object from parts, if they match the checksum over all of them.
func (s *Server) complete(w http.ResponseWriter, r *http.Request, key, id string) {
	var in struct {
		Part []struct {
			PartNumber int
		}
	}
	if xml.NewDecoder(r.Body).Decode(&in) != nil {
		failed(w, http.StatusBadRequest, "MalformedXML")
		return
	}
	s.mu.Lock()
	upload := s.uploads[id]
	s.mu.Unlock()
	if upload == nil {
		failed(w, http.StatusNotFound, "NoSuchUpload")
		return
	}
	var body []byte
	for _, p := range in.Part {
		body = append(body, upload[p.PartNumber]...)
	}
	if want := r.Header.Get("X-Amz-Checksum-Crc64nvme"); want != "" && !s.Discard && want != CRC64NVME(body) {
		failed(w, http.StatusBadRequest, "BadDigest")
		return
	}
	sum := md5.Sum(body)
	// S3 computes another MD5 here, but clients rely only on the form: a sum, "-", the number of parts.
	etag := fmt.Sprintf(`"%x-%d"`, sum, len(in.Part))
	s.Put(key, &Object{Body: body, ETag: etag, Header: checksums(r.Header)})
	s.mu.Lock()
	delete(s.uploads, id)
	s.mu.Unlock()
	_ = xml.NewEncoder(w).Encode(struct {
		XMLName   xml.Name `xml:"CompleteMultipartUploadResult"`
		Key, ETag string
	}{Key: key, ETag: etag})
}

// attributes answers GetObjectAttributes. An object without Parts is answered as without the
// permission.
func (s *Server) attributes(w http.ResponseWriter, key string) {
	o := s.Get(key)
	if o == nil || o.Parts == "" {
		failed(w, http.StatusForbidden, "AccessDenied") // also for a missing object
		return
	}
	fmt.Fprintf(w, `<GetObjectAttributesResponse><ETag>%s</ETag><ObjectParts>%s</ObjectParts></GetObjectAttributesResponse>`, strings.Trim(o.ETag, `"`), o.Parts)
}

// listed is an object in the answer of ListObjectsV2.
type listed struct {
	Key, ETag    string
	Size         int
	LastModified time.Time
}

// list answers ListObjectsV2, a page at a time. The token is the last key of the page before.
func (s *Server) list(w http.ResponseWriter, bucket string, query url.Values) {
	// All buckets share one sorted list of keys.
	prefix := bucket + "/" + query.Get("prefix")
	page := s.Page
	if page == 0 {
		page = 1000
	}
	out := struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		EncodingType          string   `xml:",omitempty"`
		IsTruncated           bool
		NextContinuationToken string `xml:",omitempty"`
		Contents              []listed
	}{EncodingType: query.Get("encoding-type")}
	keys := s.Keys()
	at, _ := slices.BinarySearch(keys, prefix)
	for _, key := range keys[at:] {
		if !strings.HasPrefix(key, prefix) {
			break
		}
		_, name, _ := strings.Cut(key, "/")
		if after := query.Get("continuation-token"); after != "" && name <= after {
			continue
		}
		if len(out.Contents) == page {
			out.IsTruncated = true
			break
		}
		out.NextContinuationToken = name // removed below if this is the last page
		o := s.Get(key)
		out.Contents = append(out.Contents, listed{url.QueryEscape(name), o.ETag, len(o.Body),
			time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)})
	}
	if !out.IsTruncated {
		out.NextContinuationToken = ""
	}
	_ = xml.NewEncoder(w).Encode(out)
}

// CRC64NVME is the checksum of S3 over a body, in base64, computed by the standard library.
func CRC64NVME(body []byte) string {
	var h hash.Hash = crc64.New(crc64.MakeTable(0x9a6c9329ac4bc9b5))
	h.Write(body)
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}
