package shell

import ("testing";"context";"sallyport/policy";"os";"fmt";"time";"encoding/json")
func TestTry(t *testing.T){
	os.MkdirAll("/tmp/try/w",0o755)
	t0:=time.Now()
	box,err:=Open(context.Background(), policy.Policy{Filesystem: policy.Filesystem{AllowWrite: policy.Paths("/tmp/try/w")}}, Options{})
	if err!=nil { t.Fatalf("%v %+v",err,err)}
	fmt.Println("open",time.Since(t0))
	b,_:=json.MarshalIndent(box.Report(),""," "); fmt.Println(string(b))
	for i:=0;i<4;i++ {
	t0=time.Now()
	c:=box.Command(context.Background(),"sh","-c",os.Getenv("TRY"))
	c.Dir="/tmp/try/w"
	out,err:=c.CombinedOutput()
	fmt.Println(string(out),err,c.Completion,time.Since(t0))
	if err!=nil {fmt.Printf("%+v\n",err)}
	}
	box.Close()
}
